#include "analyzer/model/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/model/import/folder.h"
#include "analyzer/model/import/json_file.h"
#include "analyzer/model/import/nsys.h"
#include "analyzer/read/summary.h"

static const char sqlite_magic[16] = "SQLite format 3"; /* with its NUL */

bool gw_is_import(const char *path)
{
    struct stat status;
    if (stat(path, &status)) {
        return false;
    }
    return S_ISDIR(status.st_mode) ? gw_is_trace_folder(path) : S_ISREG(status.st_mode) && !gw_is_summary(path);
}

/* What was recorded on a simulated GPU says so in its name, and has to be called that again. */
static int note_simulated(struct gw_model *model, const char *path, struct gw_error *error)
{
    for (size_t i = 0; i < model->devices_count; i++) {
        if (model->devices[i].name && strcasestr(model->devices[i].name, "simulated")) {
            free(model->run.device_kind);
            model->run.device_kind = strdup("simulated");
            return model->run.device_kind ? 0 : gw_error_set(error, -ENOMEM, "%s: no memory to read it", path);
        }
    }
    return 0;
}

static int read_file(const char *path, struct gw_model **ret_model, struct gw_error *error)
{
    char magic[sizeof(sqlite_magic)];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return gw_error_set(error, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    }
    ssize_t got = pread(file, magic, sizeof(magic), 0);
    bool is_database = got == (ssize_t)sizeof(magic) && memcmp(magic, sqlite_magic, sizeof(magic)) == 0;
    close(file);
    return is_database ? gw_nsys_read(path, ret_model, error) : gw_json_read(path, 0, ret_model, error);
}

int gw_model_import(const char *path, struct gw_model **ret_model, struct gw_error *error)
{
    struct gw_model *model = NULL;
    int status = gw_is_trace_folder(path) ? gw_folder_read(path, &model, error) : read_file(path, &model, error);
    status = status ? status : note_simulated(model, path, error);
    if (status) {
        gw_model_destroy(model);
    } else {
        *ret_model = model;
    }
    return status;
}
