#include "shim/api/functions.h"

#include <stddef.h>

#include "shim/api/function_hash.inc"
#include "shim/api/text.h"

_Static_assert(GW_FUNCTION_COUNT < GW_FUNCTION_NONE, "ids are 16 bits wide");

static const struct gw_function gw_functions[GW_FUNCTION_COUNT] = {
#define GW_FN(in_api, in_symbol, in_base, in_version, in_mode, in_ret, in_sig, in_kind, in_wait)                       \
    {.symbol = #in_symbol,                                                                                             \
     .base = #in_base,                                                                                                 \
     .version = in_version,                                                                                            \
     .api = GW_API_##in_api,                                                                                           \
     .stream_mode = GW_STREAM_MODE_##in_mode,                                                                          \
     .returns = GW_RETURN_##in_ret,                                                                                    \
     .kind = GW_KIND_##in_kind,                                                                                        \
     .wait = GW_WAIT_##in_wait},
#include "shim/api/functions.def"
#undef GW_FN
};

// FNV-1a, as in generate.py.
static uint32_t hash_of(const char *text)
{
    uint32_t value = 2166136261u;

    for (; *text; text++)
        value = (value ^ (uint8_t)*text) * 16777619u;
    return value;
}

const struct gw_function *gw_function_row(unsigned id)
{
    return id < GW_FUNCTION_COUNT ? &gw_functions[id] : NULL;
}

const char *gw_function_name(unsigned id)
{
    return id < GW_FUNCTION_COUNT ? gw_functions[id].symbol : "?";
}

unsigned gw_function_find(const char *symbol)
{
    const unsigned slots = sizeof(gw_symbol_slots) / sizeof(gw_symbol_slots[0]);

    // Every name of the table starts with one of four letters: most names a program looks up end here.
    if (symbol[0] != 'c' && symbol[0] != '_' && symbol[0] != 'n' && symbol[0] != 'p')
        return GW_FUNCTION_NONE;
    for (unsigned slot = hash_of(symbol) % slots; gw_symbol_slots[slot] != 0xffff; slot = (slot + 1) % slots)
        if (gw_text_same(gw_functions[gw_symbol_slots[slot]].symbol, symbol))
            return gw_symbol_slots[slot];
    return GW_FUNCTION_NONE;
}

unsigned gw_function_first(const char *base)
{
    const unsigned slots = sizeof(gw_base_slots) / sizeof(gw_base_slots[0]);

    for (unsigned slot = hash_of(base) % slots; gw_base_slots[slot] != 0xffff; slot = (slot + 1) % slots)
        if (gw_text_same(gw_functions[gw_base_slots[slot]].base, base))
            return gw_base_slots[slot];
    return GW_FUNCTION_NONE;
}

unsigned gw_function_lookup(const char *base, unsigned version, bool per_thread)
{
    unsigned found = GW_FUNCTION_NONE;
    unsigned first = gw_function_first(base);

    for (unsigned id = first; id < GW_FUNCTION_COUNT && gw_text_same(gw_functions[id].base, base); id++) {
        const struct gw_function *row = &gw_functions[id];

        if (row->version == 0 || row->version > version)
            continue;
        // Rows are ordered by stream mode, then version: a later fitting row is the better one.
        if (row->stream_mode == GW_STREAM_MODE_LEGACY || per_thread)
            found = id;
    }
    return found;
}
