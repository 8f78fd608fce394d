/* What every target needs: a copy of the input in a heap block of exactly its size, so that an over-read
 * shows, and an end when something does not hold. */
#ifndef OS_SANDBOX_FUZZ_EXACT_H
#define OS_SANDBOX_FUZZ_EXACT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds) {
    if (!holds)
        abort();
}

/* The caller frees. */
static inline uint8_t *exact_copy(const void *data, size_t size) {
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    check(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Where to cut the input in two: what its last byte says. */
static inline size_t cut_of(const uint8_t *data, size_t size) {
    return size == 0 ? 0 : data[size - 1] % (size + 1);
}

#endif
