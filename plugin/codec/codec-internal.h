/* SPDX-License-Identifier: BSD-3-Clause */
/* What a codec provides to codec.c. */
#ifndef CODEC_INTERNAL_H
#define CODEC_INTERNAL_H

#include "codec.h"
#include "zspage-page.h"

/* Of the output of compress: what a page grows to at most. */
#define CODEC_OUTPUT_BYTES (ZSPAGE_PAGE_SIZE + ZSPAGE_CACHE_LINE)

/* Each takes memory of *_bytes that the caller provides, 64-byte aligned.
 * setup is called once on it, and again only after it returned an error.
 */
struct codec_ops {
  const char *name;
  struct codec_level_range (*levels) (void);

  size_t (*compress_bytes) (int level);
  int (*compress_setup) (void *mem, size_t bytes, int level);
  /* Returns 0 if the result would be longer than max_len.  dict is what
   * dictionary_for_compressing gave, or NULL.  out has CODEC_OUTPUT_BYTES, of
   * which as many may be written.
   */
  size_t (*compress) (void *mem, int level, const void *dict, const void *page,
                      void *out, size_t max_len);

  /* Bytes of decompression context; NULL if none is needed. */
  size_t (*decompress_bytes) (void);
  int (*decompress_setup) (void *mem, size_t bytes);
  /* 0 or -EIO.  scratch is a page; dict is what dictionary_for_decompressing
   * gave, or NULL.
   */
  int (*decompress) (void *mem, const void *dict, const void *data, size_t len,
                     void *scratch, void *page);
};

extern const struct codec_ops codec_lz4, codec_zstd;

/* clang has no #pragma GCC target.  Where the compiler may use AVX2, or more,
 * anywhere, codec_hash has it already.
 */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ &&            \
  !defined __AVX2__
#define CODEC_AVX2 1
/* codec_hash; the processor must have AVX2. */
uint64_t codec_hash_avx2 (const void *data, size_t len);
#endif

/* A ZSTD_CDict, or NULL if there is none for that level; a ZSTD_DDict. */
const void *dictionary_for_compressing (const struct dictionary *dictionary,
                                        int level);
const void *dictionary_for_decompressing (const struct dictionary *dictionary);

#endif /* CODEC_INTERNAL_H */
