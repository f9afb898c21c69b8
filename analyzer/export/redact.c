#include "analyzer/export/redact.h"

#include "analyzer/export/names.h"

#include <ctype.h>
#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING_LENGTH 5u
#define TELLING_LENGTH 6u /* a shorter word may stand in any text for other reasons */

enum kind { KIND_USER, KIND_HOST, KIND_DIR, KIND_ARG, KIND_VALUE, KIND_UUID };

static const char *const kind_words[] = {[KIND_USER] = "user", [KIND_HOST] = "host",   [KIND_DIR] = "dir",
                                         [KIND_ARG] = "arg",   [KIND_VALUE] = "value", [KIND_UUID] = "uuid"};

/* Folders that are the same on many machines. */
static const char *const system_folders[] = {
    "/usr/lib", "/usr/bin", "/usr/local/cuda", "/usr/local/lib", "/lib", "/lib64", "/bin", "/proc", "/dev"};

/* Variables whose plain values tell about the run and nothing about the person. */
static const char *const harmless_variables[] = {"CUDA_VISIBLE_DEVICES",
                                                 "CUDA_LAUNCH_BLOCKING",
                                                 "CUDA_MODULE_LOADING",
                                                 "CUDA_DEVICE_MAX_CONNECTIONS",
                                                 "CUDA_DEVICE_ORDER",
                                                 "CUDA_CACHE_DISABLE",
                                                 "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                                 "NCCL_DEBUG",
                                                 "NCCL_ALGO",
                                                 "NCCL_PROTO",
                                                 "NCCL_P2P_DISABLE",
                                                 "NCCL_P2P_LEVEL",
                                                 "NCCL_SHM_DISABLE",
                                                 "NCCL_IB_DISABLE",
                                                 "NCCL_NET",
                                                 "NCCL_MIN_NCHANNELS",
                                                 "NCCL_MAX_NCHANNELS",
                                                 "NCCL_BUFFSIZE",
                                                 "NCCL_NTHREADS",
                                                 "RANK",
                                                 "LOCAL_RANK",
                                                 "WORLD_SIZE",
                                                 "LOCAL_WORLD_SIZE",
                                                 "GROUP_RANK",
                                                 "OMPI_COMM_WORLD_RANK",
                                                 "OMPI_COMM_WORLD_SIZE",
                                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                                 "PMI_RANK",
                                                 "PMI_SIZE",
                                                 "SLURM_PROCID",
                                                 "SLURM_LOCALID",
                                                 "SLURM_NTASKS",
                                                 "OMP_NUM_THREADS",
                                                 "PYTORCH_CUDA_ALLOC_CONF",
                                                 "XLA_PYTHON_CLIENT_PREALLOCATE",
                                                 "XLA_PYTHON_CLIENT_MEM_FRACTION",
                                                 "TF_GPU_ALLOCATOR",
                                                 "TF_FORCE_GPU_ALLOW_GROWTH"};

/* The placeholder of a secret, made when it is new; NULL: no memory. */
static const char *replace(struct gw_redactor *self, enum kind kind, const char *secret, bool everywhere)
{
    for (size_t i = 0; i < self->list_count; i++) {
        if (strcmp(self->list[i].secret, secret) == 0) {
            self->list[i].everywhere |= everywhere;
            return self->list[i].placeholder;
        }
    }
    struct gw_redaction *grown = realloc(self->list, (self->list_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    self->list = grown;
    struct gw_redaction redaction = {.secret = strdup(secret), .everywhere = everywhere};
    if (!redaction.secret || asprintf(&redaction.placeholder, "{%s%u}", kind_words[kind], self->counts[kind] + 1) < 0) {
        free(redaction.secret);
        return NULL;
    }
    self->counts[kind]++;
    self->list[self->list_count++] = redaction;
    return redaction.placeholder;
}

/* Long, and not a plain word or number: it will not stand in a report by chance. */
static bool is_telling(const char *text)
{
    bool letters = false, others = false;
    for (const char *at = text; *at; at++) {
        letters |= isalpha((unsigned char)*at) != 0;
        others |= !islower((unsigned char)*at);
    }
    return strlen(text) >= TELLING_LENGTH && letters && others;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Length of the longest secret that stands as a word at text[at], 0 for none. */
static size_t match(const struct gw_redactor *self, const char *text, size_t at, const char **ret_placeholder)
{
    size_t longest = 0;
    for (size_t i = 0; i < self->list_count; i++) {
        const char *secret = self->list[i].secret;
        if (!self->list[i].everywhere || *secret != text[at])
            continue;
        size_t length = strlen(secret);
        bool inside = (at && is_word(text[at - 1]) && is_word(secret[0])) ||
                      (length && is_word(secret[length - 1]) && is_word(text[at + strnlen(text + at, length)]));
        if (length > longest && strncmp(text + at, secret, length) == 0 && !inside) {
            longest = length;
            *ret_placeholder = self->list[i].placeholder;
        }
    }
    return longest;
}

/* Length of the folder of an absolute path at text[at], 0 when there is none that needs to be hidden; and of the name
 * of the file behind its last slash. */
static size_t folder_length(const char *text, size_t at, size_t *ret_file_length)
{
    size_t end = at, slash = at;
    if (text[at] != '/' || (at && !isspace((unsigned char)text[at - 1]) && !strchr("=:\"'`(,;[<|", text[at - 1])))
        return 0;
    while (text[end] && !isspace((unsigned char)text[end]) && !strchr("\"'`,;:()<>|\\", text[end])) {
        slash = text[end] == '/' ? end : slash;
        end++;
    }
    if (slash == at)
        return 0;
    for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++) {
        size_t length = strlen(system_folders[i]);
        if (strncmp(text + at, system_folders[i], length) == 0 && strchr("/-.", text[at + length]))
            return 0;
    }
    *ret_file_length = end - slash - 1;
    return slash - at;
}

/* The same name always gives the same hash, in this bundle and in others. NULL: no memory. */
static char *hash_of(const char *word, const char *name, const char *ending)
{
    char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1), *text = NULL;
    if (asprintf(&text, "%s_%.12s%s", word, sum, ending) < 0)
        text = NULL;
    g_free(sum);
    return text;
}

/* A file's name hashed, but for its ending. NULL: no memory. */
static char *hash_file(const char *name)
{
    const char *library = strstr(name, ".so"), *dot = strrchr(name, '.');
    return hash_of("file", name, library ? library : dot && strlen(dot) <= ENDING_LENGTH ? dot : "");
}

char *gw_redact_text(struct gw_redactor *self, const char *text)
{
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    bool failed = !out;
    for (size_t at = 0; !failed && text[at];) {
        const char *placeholder = NULL;
        char *file = NULL;
        size_t file_length = 0, folder = folder_length(text, at, &file_length);
        size_t length = match(self, text, at, &placeholder);
        if (folder > length) {
            char *secret = strndup(text + at, folder);
            placeholder = secret ? replace(self, KIND_DIR, secret, false) : NULL;
            free(secret);
            failed = !placeholder;
            length = folder;
            if (self->hash_names && file_length && !failed) {
                char *name = strndup(text + at + folder + 1, file_length);
                file = name ? hash_file(name) : NULL;
                failed = !file;
                length += file_length + 1;
                free(name);
            }
        }
        if (length && !failed)
            fprintf(out, "%s%s%s", placeholder, file ? "/" : "", file ? file : "");
        else if (!failed)
            fputc(text[at], out);
        at += length ? length : 1;
        free(file);
    }
    if (out && fclose(out) != 0)
        failed = true;
    if (failed) {
        free(result);
        return NULL;
    }
    char *valid = gw_names_utf8(result);
    free(result);
    return valid;
}

/* Puts what text gives in the place of *field; NULL text: no memory. */
static int set(char **field, char *text)
{
    if (!text)
        return -ENOMEM;
    free(*field);
    *field = text;
    return 0;
}

static int redact_text(struct gw_redactor *self, char **field)
{
    return set(field, gw_redact_text(self, *field));
}

/* NCCL's kernels keep their names, which everybody knows: they tell communication from computing. */
static int redact_name(struct gw_redactor *self, char **field)
{
    bool is_hashed = self->hash_names && **field && strncmp(*field, "nccl", 4) != 0;
    return is_hashed ? set(field, hash_of("name", *field, "")) : redact_text(self, field);
}

static int replace_field(struct gw_redactor *self, enum kind kind, char **field, bool everywhere)
{
    const char *placeholder = **field ? replace(self, kind, *field, everywhere) : "";
    return set(field, placeholder ? strdup(placeholder) : NULL);
}

/* The name of a program without its folder, unless that is the system's. */
static int keep_base_name(struct gw_redactor *self, char **field)
{
    char *slash = strrchr(*field, '/');
    if (!slash && self->hash_names)
        return set(field, hash_file(*field));
    if (!slash || **field == '/')
        return redact_text(self, field);
    *slash = '\0';
    const char *folder = replace(self, KIND_DIR, *field, false);
    char *file = self->hash_names ? hash_file(slash + 1) : strdup(slash + 1), *text = NULL;
    if (!folder || !file || asprintf(&text, "%s/%s", folder, file) < 0)
        text = NULL;
    free(file);
    return set(field, text);
}

static int learn(struct gw_redactor *self, enum kind kind, const char *secret)
{
    return secret && *secret && strcmp(secret, "/") != 0 && !replace(self, kind, secret, true) ? -ENOMEM : 0;
}

/* Who asks for it, as far as this machine knows; root is everybody. */
static int learn_person(struct gw_redactor *self)
{
    const struct passwd *entry = getpwuid(geteuid());
    const char *names[] = {getenv("USER"), getenv("LOGNAME"), entry ? entry->pw_name : NULL};
    const char *homes[] = {getenv("HOME"), entry ? entry->pw_dir : NULL};
    char host[256] = "";
    int status = 0;
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]) && !status; i++)
        status = learn(self, KIND_DIR, homes[i]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !status; i++)
        status = names[i] && strcmp(names[i], "root") == 0 ? 0 : learn(self, KIND_USER, names[i]);
    if (!status && gethostname(host, sizeof(host) - 1) == 0)
        status = learn(self, KIND_HOST, host);
    return status;
}

/* The user in "/home/NAME/…". */
static int learn_user_of(struct gw_redactor *self, const char *path)
{
    if (!path || strncmp(path, "/home/", 6) != 0)
        return 0;
    char *name = strndup(path + 6, strcspn(path + 6, "/"));
    int status = name ? learn(self, KIND_USER, name) : -ENOMEM;
    free(name);
    return status;
}

static int redact_argument(struct gw_redactor *self, char **argument)
{
    const char *value = strchr(*argument, '=');
    if (value && is_telling(value + 1) && !replace(self, KIND_ARG, value + 1, true))
        return -ENOMEM;
    return replace_field(self, KIND_ARG, argument, is_telling(*argument));
}

static bool is_harmless(const char *name, const char *value)
{
    for (const char *at = value; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("_.,:=+-", *at))
            return false;
    }
    for (size_t i = 0; i < sizeof(harmless_variables) / sizeof(harmless_variables[0]); i++) {
        if (strcmp(harmless_variables[i], name) == 0)
            return strlen(value) <= 64;
    }
    return false;
}

static int redact_environment(struct gw_redactor *self, char **field)
{
    json_t *variables = json_loads(*field, 0, NULL), *value;
    const char *name;
    int status = 0;
    json_object_foreach(variables, name, value)
    {
        const char *text = json_string_value(value) ? json_string_value(value) : "";
        const char *placeholder = text;
        if (*text && !is_harmless(name, text))
            placeholder = replace(self, KIND_VALUE, text, is_telling(text));
        if (!placeholder || json_object_set_new(variables, name, json_string(placeholder)))
            status = -ENOMEM;
    }
    if (!status)
        status = set(field, variables ? json_dumps(variables, JSON_COMPACT) : strdup("{}"));
    json_decref(variables);
    return status;
}

/* NAME=VALUE lines */
static int redact_lines(struct gw_redactor *self, char **field)
{
    char *result = NULL, *rest = *field, *line;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    bool failed = !out;
    while (!failed && (line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = '\0';
        const char *shown =
            !*value || is_harmless(line, value) ? value : replace(self, KIND_VALUE, value, is_telling(value));
        failed = !shown;
        fprintf(out, "%s=%s\n", line, shown ? shown : "");
    }
    if (out && fclose(out) != 0)
        failed = true;
    if (failed) {
        free(result);
        return -ENOMEM;
    }
    return set(field, result);
}

static int redact_command(struct gw_redactor *self, char **field)
{
    (void)self;
    return set(field, strdup("{arguments}"));
}

static int redact_host(struct gw_redactor *self, char **field)
{
    return replace_field(self, KIND_HOST, field, true);
}

static int redact_serial(struct gw_redactor *self, char **field)
{
    return replace_field(self, KIND_UUID, field, true);
}

int gw_redact_field(struct gw_redactor *self, enum gw_private what, char **field)
{
    static int (*const functions[])(struct gw_redactor *, char **) = {
        [GW_PRIVATE_TEXT] = redact_text,       [GW_PRIVATE_NAME] = redact_name,
        [GW_PRIVATE_PROGRAM] = keep_base_name, [GW_PRIVATE_ARGUMENT] = redact_argument,
        [GW_PRIVATE_COMMAND] = redact_command, [GW_PRIVATE_HOST] = redact_host,
        [GW_PRIVATE_LINES] = redact_lines,     [GW_PRIVATE_VARIABLES] = redact_environment,
        [GW_PRIVATE_SERIAL] = redact_serial};
    return *field ? functions[what](self, field) : 0;
}

static int redact_processes(struct gw_redactor *self, struct gw_model *model)
{
    int status = 0;
    for (size_t i = 0; i < model->processes_count && !status; i++) {
        struct gw_process *process = &model->processes[i];
        status = gw_redact_field(self, GW_PRIVATE_PROGRAM, &process->exe);
        status = status ? status : gw_redact_field(self, GW_PRIVATE_COMMAND, &process->command);
        status = status ? status : gw_redact_field(self, GW_PRIVATE_HOST, &process->host);
        status = status ? status : gw_redact_field(self, GW_PRIVATE_LINES, &process->environment);
    }
    return status;
}

/* What the recorder wrote of the run. */
static int redact_run(struct gw_redactor *self, struct gw_run_info *run)
{
    int status = gw_redact_field(self, GW_PRIVATE_HOST, &run->host);
    for (size_t i = 0; run->command && run->command[i] && !status; i++)
        status = gw_redact_field(self, i ? GW_PRIVATE_ARGUMENT : GW_PRIVATE_PROGRAM, &run->command[i]);
    status = status ? status : gw_redact_field(self, GW_PRIVATE_VARIABLES, &run->environment_json);
    status = status ? status : gw_redact_field(self, GW_PRIVATE_TEXT, &run->versions_json);
    return !status && run->path ? set(&run->path, strdup("run")) : status;
}

/* A name, and where it became a hash also what it was. */
static int redact_and_note(struct gw_redactor *self, char **field)
{
    if (!self->hash_names || !*field)
        return gw_redact_field(self, GW_PRIVATE_NAME, field);
    struct gw_redaction *grown = realloc(self->hashed, (self->hashed_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    self->hashed = grown;
    struct gw_redaction noted = {.secret = strdup(*field)};
    int status = noted.secret ? gw_redact_field(self, GW_PRIVATE_NAME, field) : -ENOMEM;
    bool changed = !status && strcmp(noted.secret, *field) != 0;
    noted.placeholder = changed ? strdup(*field) : NULL;
    if (!noted.placeholder) {
        free(noted.secret);
        return changed ? -ENOMEM : status;
    }
    self->hashed[self->hashed_count++] = noted;
    return 0;
}

int gw_redact_model(struct gw_model *model, struct gw_redactor *self)
{
    int status = learn_person(self);
    for (size_t i = 0; i < model->processes_count && !status; i++)
        status = learn_user_of(self, model->processes[i].exe);
    for (size_t i = 0; i < model->recordings_count && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_HOST, &model->recordings[i].host);
    for (size_t i = 0; i < model->clocks_count && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_HOST, &model->clocks[i].host);
    for (size_t i = 0; i < model->recordings_count && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_TEXT, &model->recordings[i].name);
    status = status ? status : redact_run(self, &model->run);
    status = status ? status : redact_processes(self, model);
    for (size_t i = 0; model->run.problems && model->run.problems[i] && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_TEXT, &model->run.problems[i]);
    for (size_t i = 0; model->run.not_seen && model->run.not_seen[i] && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_TEXT, &model->run.not_seen[i]);
    for (size_t i = 0; i < model->threads_count && !status; i++)
        status = redact_and_note(self, &model->threads[i].name);
    for (size_t i = 0; i < model->devices_count && !status; i++)
        status = gw_redact_field(self, GW_PRIVATE_SERIAL, &model->devices[i].uuid);
    for (size_t i = 0; i < model->coverages_count && !status; i++) {
        status = gw_redact_field(self, GW_PRIVATE_TEXT, &model->coverages[i].name);
        status = status ? status : gw_redact_field(self, GW_PRIVATE_TEXT, &model->coverages[i].detail);
    }
    for (size_t i = 0; i < model->names_count && !status; i++)
        status = redact_and_note(self, &model->names[i]);
    return status;
}

static void release_list(struct gw_redaction *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].secret);
        free(list[i].placeholder);
    }
    free(list);
}

void gw_redactor_release(struct gw_redactor *self)
{
    release_list(self->list, self->list_count);
    release_list(self->hashed, self->hashed_count);
    *self = (struct gw_redactor){0};
}
