/*
 * test_truth EVENTS all|calls TRUTH…: compares recorded events (as babeltrace2 prints them) with the simulated GPU's
 * truth logs: every call that arrived was recorded or counted, and every operation's start and end lie within the error it states.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/codes.h"
#include "shim/api/functions.h"

struct op {
    uint64_t order_ns; // when it was submitted
    uint64_t start_ns, end_ns, error_ns;
};

struct list {
    struct op *ops;
    size_t count, room;
};

struct entry {
    uint64_t call, begin_ns;
    unsigned index;
};

static int recorded[GW_FUNCTION_COUNT], arrived[GW_FUNCTION_COUNT];
static struct list measured, true_ops;
static struct entry *entries;
static size_t entry_count, entry_room;
static uint64_t floor_ns;
static char line[16384];

static void *grow(void *old, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return old;
    *room = *room ? *room * 2 : 1024;
    old = realloc(old, *room * size);
    if (!old)
        exit(1);
    return old;
}

static void add(struct list *list, struct op op)
{
    list->ops = grow(list->ops, list->count, &list->room, sizeof(op));
    list->ops[list->count++] = op;
}

// The value that begins there: of an array, the element's.
static uint64_t value_at(const char *text, unsigned element)
{
    char index[16];

    if (*text != '[')
        return strtoull(text, NULL, 0);
    snprintf(index, sizeof(index), "[%u] = ", element);
    text = strstr(text, index);
    return text ? strtoull(text + strlen(index), NULL, 0) : 0;
}

// A field of the line, or an element of an array that is named after its elements.
static uint64_t field(const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = line; (at = strstr(at, " = ")); at += 3) {
        const char *word = at;
        unsigned element = 0;

        while (word > line && word[-1] != ' ')
            word--;
        if ((size_t)(at - word) == length && strncmp(word, name, length) == 0)
            return value_at(at + 3, 0);
        for (; word < at; word += strcspn(word, "_ ") + 1, element++)
            if (strcspn(word, "_ ") == length && strncmp(word, name, length) == 0)
                return value_at(at + 3, element);
    }
    return 0;
}

static void read_events(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        exit(1);
    while (fgets(line, sizeof(line), file)) {
        if (strstr(line, "gpuwitness:gpu_clock:"))
            floor_ns = field("floor_ns");
        else if (strstr(line, "gpuwitness:gpu_op:")) // keyed by its call until all calls are read
            add(&measured, (struct op){.order_ns = field("call") << 6 | GW_WHERE_OP_INDEX(field("where")),
                                       .start_ns = field("start"),
                                       .end_ns = field("end"),
                                       .error_ns = field("error")});
        else if (strstr(line, "gpuwitness:counted:"))
            recorded[GW_COUNTED_FUNCTION(field("what"))] += GW_COUNTED_COUNT(field("what"));
        else if (strstr(line, "begin_call_site_result")) {
            uint64_t site = field("site");

            recorded[GW_SITE_FUNCTION(site)]++;
            if (GW_SITE_FLAGS(site) & GW_SITE_OP_INDEX) {
                entries = grow(entries, entry_count, &entry_room, sizeof(*entries));
                entries[entry_count++] =
                    (struct entry){field("call"), field("begin"), GW_SITE_FLAGS(site) & GW_SITE_OP_INDEX};
            }
        }
    }
    fclose(file);
    for (size_t i = 0; i < measured.count; i++)
        for (size_t k = 0; k < entry_count; k++)
            if ((entries[k].call << 6 | entries[k].index) == measured.ops[i].order_ns) {
                measured.ops[i].order_ns = entries[k].begin_ns;
                break;
            }
}

static void read_truth(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file)
        exit(1);
    while (fgets(line, sizeof(line), file)) {
        char *column[11] = {0}, *rest = line;

        for (unsigned i = 0; i < 11; i++)
            column[i] = strsep(&rest, ",");
        if (!column[3])
            continue;
        if (strcmp(column[0], "call") == 0 && strcmp(column[1], "tid") != 0) {
            unsigned id = gw_function_find(column[3]);

            if (id != GW_FUNCTION_NONE && gw_function_row(id)->kind != GW_KIND_REGISTER)
                arrived[id]++;
        } else if (strcmp(column[0], "op") == 0 && column[8] && strcmp(column[1], "device") != 0 &&
                   strcmp(column[3], "host") != 0) {
            add(&true_ops, (struct op){.order_ns = strtoull(column[6], NULL, 10),
                                       .start_ns = strtoull(column[7], NULL, 10),
                                       .end_ns = strtoull(column[8], NULL, 10)});
        }
    }
    fclose(file);
}

static int by_order(const void *left, const void *right)
{
    const struct op *a = left, *b = right;

    return a->order_ns < b->order_ns ? -1 : a->order_ns > b->order_ns;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int compare(bool operations)
{
    int failures = 0;

    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++)
        if (recorded[id] != arrived[id]) {
            printf("%s: %d arrived, %d recorded\n", gw_function_name(id), arrived[id], recorded[id]);
            failures++;
        }
    if (!operations)
        return failures;
    if (measured.count != true_ops.count) {
        printf("%zu operations happened, %zu were measured\n", true_ops.count, measured.count);
        return failures + 1;
    }
    qsort(measured.ops, measured.count, sizeof(struct op), by_order);
    qsort(true_ops.ops, true_ops.count, sizeof(struct op), by_order);
    for (size_t i = 0; i < measured.count; i++) {
        const struct op *m = &measured.ops[i], *t = &true_ops.ops[i];

        if (distance(m->start_ns, t->start_ns) > m->error_ns + floor_ns ||
            distance(m->end_ns, t->end_ns) > m->error_ns + floor_ns) {
            printf("operation %zu: start %+" PRId64 " ns, end %+" PRId64 " ns, stated error %" PRIu64 " ns\n", i,
                   (int64_t)(m->start_ns - t->start_ns), (int64_t)(m->end_ns - t->end_ns), m->error_ns);
            failures++;
        }
    }
    printf("%zu operations compared\n", measured.count);
    return failures;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    read_events(argv[1]);
    for (int i = 3; i < argc; i++)
        read_truth(argv[i]);
    return compare(strcmp(argv[2], "calls") != 0) == 0 ? 0 : 1;
}
