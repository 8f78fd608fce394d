/* Fuzzes the payload's reader: what a launched child and a stage would read, from any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly the input's size: reading past it is an error that the sanitizer sees. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    struct payload payload;
    if (payload_decode(copy, size, &payload) == 0) {
        size_t encoded_size;
        void *encoded = payload_encode(&payload, &encoded_size);
        if (encoded == NULL || encoded_size != size || memcmp(encoded, copy, size) != 0)
            abort();
        free(encoded);
    }
    payload_release(&payload);
    free(copy);
    return 0;
}
