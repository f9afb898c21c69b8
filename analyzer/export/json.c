#include "analyzer/export/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "analyzer/export/names.h"

static void print(void *context, const char *text, size_t length)
{
    gw_output_write(context, text, length);
}

static void set_key(struct gw_json *json, const char *key)
{
    if (key)
        yajl_gen_string(json->generator, (const unsigned char *)key, strlen(key));
}

int gw_json_init(struct gw_json *ret_json, struct gw_output *output)
{
    *ret_json = (struct gw_json){.output = output, .generator = yajl_gen_alloc(NULL)};
    if (!ret_json->generator)
        return -ENOMEM;
    yajl_gen_config(ret_json->generator, yajl_gen_print_callback, print, output);
    return 0;
}

void gw_json_release(struct gw_json *json)
{
    if (json->generator)
        yajl_gen_free(json->generator);
    json->generator = NULL;
}

void gw_json_next_line(struct gw_json *json)
{
    yajl_gen_reset(json->generator, "\n");
}

void gw_json_open_map(struct gw_json *json, const char *key)
{
    set_key(json, key);
    yajl_gen_map_open(json->generator);
}

void gw_json_close_map(struct gw_json *json)
{
    yajl_gen_map_close(json->generator);
}

void gw_json_open_list(struct gw_json *json, const char *key)
{
    set_key(json, key);
    yajl_gen_array_open(json->generator);
}

void gw_json_close_list(struct gw_json *json)
{
    yajl_gen_array_close(json->generator);
}

void gw_json_text(struct gw_json *json, const char *key, const char *text)
{
    char *valid = text ? gw_names_utf8(text) : NULL;
    set_key(json, key);
    if (valid)
        yajl_gen_string(json->generator, (const unsigned char *)valid, strlen(valid));
    else
        yajl_gen_null(json->generator);
    if (text && !valid && json->output->status == 0)
        json->output->status = -ENOMEM;
    free(valid);
}

static void put_digits(struct gw_json *json, const char *key, const char *digits)
{
    set_key(json, key);
    yajl_gen_number(json->generator, digits, strlen(digits));
}

void gw_json_number(struct gw_json *json, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    put_digits(json, key, digits);
}

void gw_json_signed(struct gw_json *json, const char *key, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, number);
    put_digits(json, key, digits);
}

void gw_json_real(struct gw_json *json, const char *key, double number)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%.6g", number);
    put_digits(json, key, digits);
}

void gw_json_bool(struct gw_json *json, const char *key, bool value)
{
    set_key(json, key);
    yajl_gen_bool(json->generator, value);
}

void gw_json_null(struct gw_json *json, const char *key)
{
    set_key(json, key);
    yajl_gen_null(json->generator);
}

void gw_json_payload(struct gw_json *json, const char *key, const struct gw_range *range)
{
    const struct gw_payload payload = gw_payload_of(range);
    switch (payload.kind) {
    case GW_PAYLOAD_UNSIGNED:
        gw_json_number(json, key, payload.count);
        break;
    case GW_PAYLOAD_SIGNED:
        gw_json_signed(json, key, payload.number);
        break;
    case GW_PAYLOAD_REAL:
        gw_json_real(json, key, payload.real);
        break;
    case GW_PAYLOAD_NONE:
        gw_json_null(json, key);
        break;
    }
}

void gw_json_us(struct gw_json *json, const char *key, uint64_t ns)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    put_digits(json, key, digits);
}
