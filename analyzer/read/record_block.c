#include "analyzer/read/record_block.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/record_layout.h"
#include "shim/api/codes.h"

/* The longest packed record: type, two lengths of lengths, four numbers, a result and all words. */
#define RECORD_BYTES_MAX (4u + 4u * 8u + 4u + GW_RECORD_WORDS_MAX * 8u)
/* Behind the last record, so that eight bytes can be loaded wherever a number begins. */
#define SPARE_BYTES 8u

#define HEADS_MAX 512u
#define VALUES_MAX 512u
#define SLOTS 1024u

#define TYPE_MASK 0x3fu
#define HAS_RESULT 0x40u
_Static_assert(GW_RECORD_COUNT <= TYPE_MASK + 1, "more types than their bits can tell");

/* Lengths of a number by its code of two bits. */
static const uint8_t time_bytes[4] = {2, 3, 4, 8}, begin_bytes[4] = {1, 2, 4, 8}, call_bytes[4] = {1, 2, 3, 8},
                     head_bytes[4] = {1, 2, 2, 2}, word_bytes[4] = {1, 2, 3, 8};

/* What a word shorter than eight bytes is, in its lowest two bits. */
enum word_tag { WORD_NUMBER = 0, WORD_VALUE, WORD_TIME };
#define TAG_BITS 2u

/* Numbers below the first are packed as they are; below the second, too, unless they are among the values. Words this
 * near to the record's begin are times, which do not come again. */
#define SMALL_NUMBER (1u << 14)
#define MEDIUM_NUMBER (1u << 22)
#define TIME_LIKE_NS (1ull << 42)

struct gw_record_packer {
    uint16_t head_slots[SLOTS], value_slots[SLOTS]; /* place in the list + 1, 0: free */
};

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ -(number & 1u);
}

static uint64_t sequence_of(uint64_t call)
{
    return call & (GW_CALL_ID(1, 0) - 1);
}

static size_t first_slot(uint64_t a, uint64_t b)
{
    return ((a * 0x9e3779b97f4a7c15ull) ^ (b * 0xff51afd7ed558ccdull)) >> 54;
}

/* Makes room for one more item of an array that doubles at powers of two. */
static int reserve(void **items, uint32_t count, size_t item_bytes)
{
    if (count >= 8 ? (count & (count - 1)) != 0 : count != 0) {
        return 0;
    }
    void *grown = realloc(*items, (count ? count * 2u : 8u) * item_bytes);
    if (!grown) {
        return -ENOMEM;
    }
    *items = grown;
    return 0;
}

struct gw_record_block *gw_record_block_create(struct gw_record_packer **packer)
{
    if (!*packer && !(*packer = malloc(sizeof(**packer)))) {
        return NULL;
    }
    memset(*packer, 0, sizeof(**packer));
    struct gw_record_block *block = malloc(sizeof(*block) + GW_BLOCK_BYTES + SPARE_BYTES);
    if (block) {
        *block = (struct gw_record_block){0};
    }
    return block;
}

void gw_record_block_destroy(struct gw_record_block *block)
{
    if (block) {
        free(block->heads);
        free(block->values);
        free(block);
    }
}

struct gw_record_block *gw_record_block_trim(struct gw_record_block *block)
{
    memset(block->data + block->bytes, 0, SPARE_BYTES);
    struct gw_record_block *trimmed = realloc(block, sizeof(*block) + block->bytes + SPARE_BYTES);
    return trimmed ? trimmed : block;
}

/* ---- packing ---- */

/* The number of the record's head; HEADS_MAX: there is no room for it. Negative: no memory. */
static int head_number(struct gw_record_block *block, struct gw_record_packer *packer, const struct gw_record *record)
{
    const struct gw_record_head head = {record->site, record->call - sequence_of(record->call)};
    size_t slot = first_slot(head.site, head.thread);
    for (; packer->head_slots[slot]; slot = (slot + 1) % SLOTS) {
        const struct gw_record_head *known = &block->heads[packer->head_slots[slot] - 1];
        if (known->site == head.site && known->thread == head.thread) {
            return packer->head_slots[slot] - 1;
        }
    }
    if (block->head_count == HEADS_MAX) {
        return HEADS_MAX;
    }
    if (reserve((void **)&block->heads, block->head_count, sizeof(head))) {
        return -ENOMEM;
    }
    block->heads[block->head_count++] = head;
    packer->head_slots[slot] = (uint16_t)block->head_count;
    return (int)block->head_count - 1;
}

/* The number of a value, VALUES_MAX when it is not among them and not to be added; negative: no memory. */
static int value_number(struct gw_record_block *block, struct gw_record_packer *packer, uint64_t value, bool adds)
{
    size_t slot = first_slot(value, 0);
    for (; packer->value_slots[slot]; slot = (slot + 1) % SLOTS) {
        if (block->values[packer->value_slots[slot] - 1] == value) {
            return packer->value_slots[slot] - 1;
        }
    }
    if (!adds || block->value_count == VALUES_MAX) {
        return VALUES_MAX;
    }
    if (reserve((void **)&block->values, block->value_count, sizeof(value))) {
        return -ENOMEM;
    }
    block->values[block->value_count++] = value;
    packer->value_slots[slot] = (uint16_t)block->value_count;
    return (int)block->value_count - 1;
}

/* Stores the number in the fewest bytes that hold it; returns its code. */
static unsigned put(uint8_t **at, uint64_t number, const uint8_t lengths[4])
{
    unsigned code = 0;
    while (lengths[code] < 8 && number >> (8u * lengths[code])) {
        code++;
    }
    const uint64_t stored = htole64(number);
    memcpy(*at, &stored, sizeof(stored));
    *at += lengths[code];
    return code;
}

/* The short form of a word, whose lowest bits are its tag; *ret_is_short: it has one. Negative: no memory. */
static int shorten(struct gw_record_block *block, struct gw_record_packer *packer, uint64_t word, uint64_t begin_ns,
                   uint64_t *ret_short, bool *ret_is_short)
{
    const uint64_t since = zigzag(word - begin_ns);
    *ret_is_short = true;
    if (word < SMALL_NUMBER) {
        *ret_short = word << TAG_BITS | WORD_NUMBER;
        return 0;
    }
    if (since < MEDIUM_NUMBER) {
        *ret_short = since << TAG_BITS | WORD_TIME;
        return 0;
    }
    const int number = value_number(block, packer, word, word >= MEDIUM_NUMBER && since >= TIME_LIKE_NS);
    if (number < 0) {
        return number;
    }
    *ret_is_short = number < (int)VALUES_MAX || word < MEDIUM_NUMBER;
    *ret_short = number < (int)VALUES_MAX ? (uint64_t)number << TAG_BITS | WORD_VALUE : word << TAG_BITS | WORD_NUMBER;
    return 0;
}

static int put_words(struct gw_record_block *block, struct gw_record_packer *packer, const struct gw_record *record,
                     const uint64_t *words, uint32_t word_count, uint8_t **at)
{
    const uint32_t count = gw_record_words_of[record->type];
    uint8_t *lengths = *at;
    *at += (count + 3) / 4;
    memset(lengths, 0, (count + 3) / 4);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word = i < word_count ? words[i] : 0;
        uint64_t packed = 0;
        bool is_short = false;
        const int status = shorten(block, packer, word, record->begin_ns, &packed, &is_short);
        if (status) {
            return status;
        }
        if (is_short) {
            lengths[i / 4] |= (uint8_t)(put(at, packed, word_bytes) << i % 4 * 2);
        } else {
            packed = htole64(word);
            memcpy(*at, &packed, sizeof(packed));
            *at += sizeof(packed);
            lengths[i / 4] |= (uint8_t)(3u << i % 4 * 2);
        }
    }
    return 0;
}

int gw_record_block_append(struct gw_record_block *block, struct gw_record_packer *packer,
                           const struct gw_record *record, const uint64_t *words, uint32_t word_count)
{
    if (block->bytes + RECORD_BYTES_MAX > GW_BLOCK_BYTES) {
        return -ENOSPC;
    }
    const int head = head_number(block, packer, record);
    if (head < 0 || head == (int)HEADS_MAX) {
        return head < 0 ? head : -ENOSPC;
    }
    if (!block->count) {
        block->first_ns = record->time_ns;
        block->first_sequence = sequence_of(record->call);
    }
    uint8_t *first = block->data + block->bytes, *at = first + 2;
    unsigned lengths = put(&at, zigzag(record->time_ns - block->first_ns), time_bytes);
    lengths |= put(&at, zigzag(record->time_ns - record->begin_ns), begin_bytes) << 2;
    lengths |= put(&at, zigzag(sequence_of(record->call) - block->first_sequence), call_bytes) << 4;
    lengths |= put(&at, (uint64_t)head, head_bytes) << 6;
    first[0] = (uint8_t)(record->type | (record->result ? HAS_RESULT : 0));
    first[1] = (uint8_t)lengths;
    if (record->result) {
        const uint32_t result = htole32((uint32_t)record->result);
        memcpy(at, &result, sizeof(result));
        at += sizeof(result);
    }
    const int status = put_words(block, packer, record, words, word_count, &at);
    if (status) {
        return status;
    }
    block->bytes = (uint32_t)(at - block->data + 1) & ~(GW_BLOCK_UNIT_BYTES - 1);
    block->count++;
    block->word_count += gw_record_words_of[record->type];
    block->last_ns = record->time_ns;
    return 0;
}

/* ---- unpacking ---- */

static uint64_t get(const uint8_t **at, unsigned length)
{
    uint64_t number;
    memcpy(&number, *at, sizeof(number));
    *at += length;
    return le64toh(number) & UINT64_MAX >> (64 - 8 * length);
}

/* Reads all but the words; returns where these begin. */
static const uint8_t *get_head(const struct gw_record_block *block, uint32_t place, struct gw_record *record)
{
    const uint8_t *first = block->data + (size_t)place * GW_BLOCK_UNIT_BYTES, *at = first + 2;
    const unsigned lengths = first[1];
    record->type = first[0] & TYPE_MASK;
    record->time_ns = block->first_ns + unzigzag(get(&at, time_bytes[lengths & 3u]));
    record->begin_ns = record->time_ns - unzigzag(get(&at, begin_bytes[lengths >> 2 & 3u]));
    const uint64_t sequence = block->first_sequence + unzigzag(get(&at, call_bytes[lengths >> 4 & 3u]));
    const struct gw_record_head *head = &block->heads[get(&at, head_bytes[lengths >> 6])];
    record->site = head->site;
    record->call = head->thread + sequence;
    record->result = first[0] & HAS_RESULT ? (int32_t)get(&at, sizeof(int32_t)) : 0;
    return at;
}

static uint32_t place_behind(const struct gw_record_block *block, const uint8_t *at)
{
    return (uint32_t)((size_t)(at - block->data + 1) / GW_BLOCK_UNIT_BYTES);
}

uint32_t gw_record_get_head(const struct gw_record_block *block, uint32_t place, struct gw_record *ret_record)
{
    const uint8_t *at = get_head(block, place, ret_record);
    const uint32_t count = gw_record_words_of[ret_record->type];
    const uint8_t *lengths = at;
    at += (count + 3) / 4;
    for (uint32_t i = 0; i < count; i++) {
        at += word_bytes[lengths[i / 4] >> i % 4 * 2 & 3u];
    }
    return place_behind(block, at);
}

uint32_t gw_record_get(const struct gw_record_block *block, uint32_t place, struct gw_record *ret_record)
{
    struct gw_record *record = ret_record;
    const uint8_t *at = get_head(block, place, record);
    const uint32_t count = gw_record_words_of[record->type];
    const uint8_t *word_lengths = at;
    at += (count + 3) / 4;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned length = word_bytes[word_lengths[i / 4] >> i % 4 * 2 & 3u];
        const uint64_t packed = get(&at, length), number = packed >> TAG_BITS;
        record->words[i] = length == sizeof(packed)                          ? packed
                           : (packed & ((1u << TAG_BITS) - 1)) == WORD_VALUE ? block->values[number]
                           : (packed & ((1u << TAG_BITS) - 1)) == WORD_TIME  ? record->begin_ns + unzigzag(number)
                                                                             : number;
    }
    return place_behind(block, at);
}
