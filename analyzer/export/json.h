/*
 * JSON text written as it is made, by YAJL: a document of any length in bounded memory. Internal to analyzer/export.
 */
#ifndef GW_ANALYZER_EXPORT_JSON_H
#define GW_ANALYZER_EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/export/output.h"
#include "analyzer/model/model.h"

struct gw_json {
    struct gw_output *output;
    void *generator;
};

/* Returns 0 or -ENOMEM; release with gw_json_release in both cases. */
int gw_json_init(struct gw_json *ret_json, struct gw_output *output);
void gw_json_release(struct gw_json *json);

/* Ends a document and starts the next on a line of its own. */
void gw_json_next_line(struct gw_json *json);

/* Values; key NULL: an element of a list, or the document. Texts are made UTF-8; NULL is null. */
void gw_json_open_map(struct gw_json *json, const char *key);
void gw_json_close_map(struct gw_json *json);
void gw_json_open_list(struct gw_json *json, const char *key);
void gw_json_close_list(struct gw_json *json);
void gw_json_text(struct gw_json *json, const char *key, const char *text);
void gw_json_number(struct gw_json *json, const char *key, uint64_t number);
void gw_json_signed(struct gw_json *json, const char *key, int64_t number);
void gw_json_real(struct gw_json *json, const char *key, double number);
void gw_json_bool(struct gw_json *json, const char *key, bool value);
void gw_json_null(struct gw_json *json, const char *key);

/* The number that a program gave with a range; null when it gave none. */
void gw_json_payload(struct gw_json *json, const char *key, const struct gw_range *range);

/* Nanoseconds as microseconds with three decimals, exactly. */
void gw_json_us(struct gw_json *json, const char *key, uint64_t ns);

#endif
