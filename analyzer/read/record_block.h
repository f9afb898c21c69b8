/*
 * Records packed into blocks: each can be unpacked by itself, by its place in its block.
 *
 * A record is its type, whether it has a result, and the lengths of what follows: its time from the block's first, its
 * begin from its time, its call's sequence number from the block's first, and the number of its head (site and thread)
 * in the block's list of heads. Each word is a small number, a time from the record's begin, the number of an entry in
 * the block's list of values, or eight bytes. All numbers are little-endian.
 *
 * Memory: 10 to 12 bytes a call without arguments, 18 a launch or the times of an operation, in most traces; once for
 * each block, 16 bytes a head and 8 a value.
 */
#ifndef GW_ANALYZER_READ_RECORD_BLOCK_H
#define GW_ANALYZER_READ_RECORD_BLOCK_H

#include "analyzer/read/records.h"

/* A place is a number below 2^16, in units of two bytes. */
#define GW_BLOCK_UNIT_BYTES 2u
#define GW_BLOCK_BYTES (65536u * GW_BLOCK_UNIT_BYTES)

/* What packing needs to know of the block it fills: where heads and values are in their lists. One for many blocks, one
 * after the other. */
struct gw_record_packer;

/* An empty block with room for GW_BLOCK_BYTES; NULL: no memory. The packer forgets the block before it; *packer may be
 * NULL, and is freed by free(). */
struct gw_record_block *gw_record_block_create(struct gw_record_packer **packer);
void gw_record_block_destroy(struct gw_record_block *block);

/* Packs the record with word_count words at the end of the block that the packer was made for. Returns 0, -ENOSPC when
 * the block is full, or -ENOMEM. */
int gw_record_block_append(struct gw_record_block *block, struct gw_record_packer *packer,
                           const struct gw_record *record, const uint64_t *words, uint32_t word_count);

/* Gives back the room that was not used: nothing can be appended any more. Returns the block, which may have moved. */
struct gw_record_block *gw_record_block_trim(struct gw_record_block *block);

#endif
