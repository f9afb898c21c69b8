/*
 * C text for each sig of functions.def. Made by generate.py; do not edit.
 *
 *   GW_PARAMS_SIG  the parameter list
 *   GW_ARGS_SIG    the same as arguments of a call
 *   GW_WORDS_SIG   the same flattened into initialisers of uint64_t (G gives 2 words, the others one for each 8 bytes)
 *   GW_COUNT_SIG   how many words that are
 */
#ifndef GW_SHIM_API_SIGNATURES_H
#define GW_SHIM_API_SIGNATURES_H

#include <stdint.h>

struct gw_bytes12 {
    uint32_t x, y, z;
};
struct gw_bytes24 {
    uint64_t word[3];
};
struct gw_bytes32 {
    uint64_t word[4];
};
struct gw_bytes64 {
    uint64_t word[8];
};
struct gw_bytes128 {
    uint64_t word[16];
};
struct gw_bytes104 {
    uint64_t word[13];
};
struct gw_bytes280 {
    uint64_t word[35];
};
struct gw_bytes20 {
    int32_t member[5];
};

static inline uint64_t gw_word_float(float value)
{
    union {
        float real;
        uint32_t bits;
    } u = {.real = value};
    return u.bits;
}

static inline uint64_t gw_word_double(double value)
{
    union {
        double real;
        uint64_t bits;
    } u = {.real = value};
    return u.bits;
}

// clang-format off
#define GW_PARAMS_N void
#define GW_ARGS_N
#define GW_WORDS_N 0
#define GW_COUNT_N 0
#define GW_PARAMS_U uint64_t a0
#define GW_ARGS_U a0
#define GW_WORDS_U a0
#define GW_COUNT_U 1
#define GW_PARAMS_UE uint64_t a0, struct gw_bytes24 a1
#define GW_ARGS_UE a0, a1
#define GW_WORDS_UE a0, (a1).word[0], (a1).word[1], (a1).word[2]
#define GW_COUNT_UE 4
#define GW_PARAMS_UF uint64_t a0, float a1
#define GW_ARGS_UF a0, a1
#define GW_WORDS_UF a0, gw_word_float(a1)
#define GW_COUNT_UF 2
#define GW_PARAMS_UI uint64_t a0, struct gw_bytes64 a1
#define GW_ARGS_UI a0, a1
#define GW_WORDS_UI a0, (a1).word[0], (a1).word[1], (a1).word[2], (a1).word[3], (a1).word[4], (a1).word[5], (a1).word[6], (a1).word[7]
#define GW_COUNT_UI 9
#define GW_PARAMS_UU uint64_t a0, uint64_t a1
#define GW_ARGS_UU a0, a1
#define GW_WORDS_UU a0, a1
#define GW_COUNT_UU 2
#define GW_PARAMS_PUE struct gw_bytes32 a0, uint64_t a1, struct gw_bytes24 a2
#define GW_ARGS_PUE a0, a1, a2
#define GW_WORDS_PUE (a0).word[0], (a0).word[1], (a0).word[2], (a0).word[3], a1, (a2).word[0], (a2).word[1], (a2).word[2]
#define GW_COUNT_PUE 8
#define GW_PARAMS_UFF uint64_t a0, float a1, float a2
#define GW_ARGS_UFF a0, a1, a2
#define GW_WORDS_UFF a0, gw_word_float(a1), gw_word_float(a2)
#define GW_COUNT_UFF 3
#define GW_PARAMS_UIU uint64_t a0, struct gw_bytes64 a1, uint64_t a2
#define GW_ARGS_UIU a0, a1, a2
#define GW_WORDS_UIU a0, (a1).word[0], (a1).word[1], (a1).word[2], (a1).word[3], (a1).word[4], (a1).word[5], (a1).word[6], (a1).word[7], a2
#define GW_COUNT_UIU 10
#define GW_PARAMS_UUF uint64_t a0, uint64_t a1, float a2
#define GW_ARGS_UUF a0, a1, a2
#define GW_WORDS_UUF a0, a1, gw_word_float(a2)
#define GW_COUNT_UUF 3
#define GW_PARAMS_UUU uint64_t a0, uint64_t a1, uint64_t a2
#define GW_ARGS_UUU a0, a1, a2
#define GW_WORDS_UUU a0, a1, a2
#define GW_COUNT_UUU 3
#define GW_PARAMS_UXU uint64_t a0, struct gw_bytes280 a1, uint64_t a2
#define GW_ARGS_UXU a0, a1, a2
#define GW_WORDS_UXU a0, (a1).word[0], (a1).word[1], (a1).word[2], (a1).word[3], (a1).word[4], (a1).word[5], (a1).word[6], (a1).word[7], (a1).word[8], (a1).word[9], (a1).word[10], (a1).word[11], (a1).word[12], (a1).word[13], (a1).word[14], (a1).word[15], (a1).word[16], (a1).word[17], (a1).word[18], (a1).word[19], (a1).word[20], (a1).word[21], (a1).word[22], (a1).word[23], (a1).word[24], (a1).word[25], (a1).word[26], (a1).word[27], (a1).word[28], (a1).word[29], (a1).word[30], (a1).word[31], (a1).word[32], (a1).word[33], (a1).word[34], a2
#define GW_COUNT_UXU 37
#define GW_PARAMS_GGUU struct gw_bytes12 a0, struct gw_bytes12 a1, uint64_t a2, uint64_t a3
#define GW_ARGS_GGUU a0, a1, a2, a3
#define GW_WORDS_GGUU (uint64_t)(a0).y << 32 | (a0).x, (a0).z, (uint64_t)(a1).y << 32 | (a1).x, (a1).z, a2, a3
#define GW_COUNT_GGUU 6
#define GW_PARAMS_PUEU struct gw_bytes32 a0, uint64_t a1, struct gw_bytes24 a2, uint64_t a3
#define GW_ARGS_PUEU a0, a1, a2, a3
#define GW_WORDS_PUEU (a0).word[0], (a0).word[1], (a0).word[2], (a0).word[3], a1, (a2).word[0], (a2).word[1], (a2).word[2], a3
#define GW_COUNT_PUEU 9
#define GW_PARAMS_UUEU uint64_t a0, uint64_t a1, struct gw_bytes24 a2, uint64_t a3
#define GW_ARGS_UUEU a0, a1, a2, a3
#define GW_WORDS_UUEU a0, a1, (a2).word[0], (a2).word[1], (a2).word[2], a3
#define GW_COUNT_UUEU 6
#define GW_PARAMS_UUQU uint64_t a0, uint64_t a1, struct gw_bytes128 a2, uint64_t a3
#define GW_ARGS_UUQU a0, a1, a2, a3
#define GW_WORDS_UUQU a0, a1, (a2).word[0], (a2).word[1], (a2).word[2], (a2).word[3], (a2).word[4], (a2).word[5], (a2).word[6], (a2).word[7], (a2).word[8], (a2).word[9], (a2).word[10], (a2).word[11], (a2).word[12], (a2).word[13], (a2).word[14], (a2).word[15], a3
#define GW_COUNT_UUQU 19
#define GW_PARAMS_UUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3
#define GW_ARGS_UUUU a0, a1, a2, a3
#define GW_WORDS_UUUU a0, a1, a2, a3
#define GW_COUNT_UUUU 4
#define GW_PARAMS_UUEUU uint64_t a0, uint64_t a1, struct gw_bytes24 a2, uint64_t a3, uint64_t a4
#define GW_ARGS_UUEUU a0, a1, a2, a3, a4
#define GW_WORDS_UUEUU a0, a1, (a2).word[0], (a2).word[1], (a2).word[2], a3, a4
#define GW_COUNT_UUEUU 7
#define GW_PARAMS_UUQUU uint64_t a0, uint64_t a1, struct gw_bytes128 a2, uint64_t a3, uint64_t a4
#define GW_ARGS_UUQUU a0, a1, a2, a3, a4
#define GW_WORDS_UUQUU a0, a1, (a2).word[0], (a2).word[1], (a2).word[2], (a2).word[3], (a2).word[4], (a2).word[5], (a2).word[6], (a2).word[7], (a2).word[8], (a2).word[9], (a2).word[10], (a2).word[11], (a2).word[12], (a2).word[13], (a2).word[14], (a2).word[15], a3, a4
#define GW_COUNT_UUQUU 20
#define GW_PARAMS_UUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4
#define GW_ARGS_UUUUU a0, a1, a2, a3, a4
#define GW_WORDS_UUUUU a0, a1, a2, a3, a4
#define GW_COUNT_UUUUU 5
#define GW_PARAMS_UGGUUU uint64_t a0, struct gw_bytes12 a1, struct gw_bytes12 a2, uint64_t a3, uint64_t a4, uint64_t a5
#define GW_ARGS_UGGUUU a0, a1, a2, a3, a4, a5
#define GW_WORDS_UGGUUU a0, (uint64_t)(a1).y << 32 | (a1).x, (a1).z, (uint64_t)(a2).y << 32 | (a2).x, (a2).z, a3, a4, a5
#define GW_COUNT_UGGUUU 8
#define GW_PARAMS_UUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5
#define GW_ARGS_UUUUUU a0, a1, a2, a3, a4, a5
#define GW_WORDS_UUUUUU a0, a1, a2, a3, a4, a5
#define GW_COUNT_UUUUUU 6
#define GW_PARAMS_UUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6
#define GW_ARGS_UUUUUUU a0, a1, a2, a3, a4, a5, a6
#define GW_WORDS_UUUUUUU a0, a1, a2, a3, a4, a5, a6
#define GW_COUNT_UUUUUUU 7
#define GW_PARAMS_UUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7
#define GW_ARGS_UUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7
#define GW_WORDS_UUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7
#define GW_COUNT_UUUUUUUU 8
#define GW_PARAMS_UUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8
#define GW_ARGS_UUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8
#define GW_WORDS_UUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8
#define GW_COUNT_UUUUUUUUU 9
#define GW_PARAMS_UUUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9
#define GW_ARGS_UUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9
#define GW_WORDS_UUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9
#define GW_COUNT_UUUUUUUUUU 10
#define GW_PARAMS_UUUUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10
#define GW_ARGS_UUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define GW_WORDS_UUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define GW_COUNT_UUUUUUUUUUU 11
#define GW_PARAMS_UUUUUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11
#define GW_ARGS_UUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11
#define GW_WORDS_UUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11
#define GW_COUNT_UUUUUUUUUUUU 12
#define GW_PARAMS_UUUUUUUUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11, uint64_t a12, uint64_t a13, uint64_t a14
#define GW_ARGS_UUUUUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14
#define GW_WORDS_UUUUUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14
#define GW_COUNT_UUUUUUUUUUUUUUU 15
#define GW_PARAMS_UUUUUUUUUUUUUUUU uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11, uint64_t a12, uint64_t a13, uint64_t a14, uint64_t a15
#define GW_ARGS_UUUUUUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15
#define GW_WORDS_UUUUUUUUUUUUUUUU a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15
#define GW_COUNT_UUUUUUUUUUUUUUUU 16
// clang-format on

#endif
