/*
 * Fuzzes the reader of server names: a name is one, more bytes change nothing that was said, and it does not
 * matter how the handshake's bytes are cut into records.
 */
#include "exact.h"
#include "protocol/tls_hello.h"

struct heard {
    enum tls_hello result;
    char name[256];
};

static struct heard judge(const uint8_t *data, size_t size) {
    struct heard heard;
    uint8_t *bytes = exact_copy(data, size);
    memset(heard.name, 'x', sizeof heard.name);
    heard.result = tls_hello_server_name(bytes, size, heard.name);
    if (heard.result == TLS_HELLO_NAMED) {
        size_t length = strnlen(heard.name, sizeof heard.name);
        check(length > 0 && length < sizeof heard.name);
        check(strspn(heard.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
              length);
    } else {
        check(heard.name[0] == 'x');
    }
    free(bytes);
    return heard;
}

static bool same(const struct heard *a, const struct heard *b) {
    return a->result == b->result && (a->result != TLS_HELLO_NAMED || strcmp(a->name, b->name) == 0);
}

static size_t add_record(uint8_t *out, const uint8_t *bytes, size_t size) {
    const uint8_t header[] = {22, 3, 1, (uint8_t)(size >> 8), (uint8_t)size};
    memcpy(out, header, sizeof header);
    memcpy(out + sizeof header, bytes, size);
    return sizeof header + size;
}

/* The input as a handshake message: in one record, and in two. */
static void split(const uint8_t *data, size_t size) {
    if (size < 2 || size > 16384)
        return;
    size_t cut = 1 + cut_of(data, size) % (size - 1);
    uint8_t *bytes = malloc(size + 10);
    check(bytes != NULL);
    struct heard whole = judge(bytes, add_record(bytes, data, size));
    size_t first = add_record(bytes, data, cut);
    struct heard halves = judge(bytes, first + add_record(bytes + first, data + cut, size - cut));
    check(same(&whole, &halves));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t cut = cut_of(data, size);
    struct heard early = judge(data, cut), whole = judge(data, size);
    check(early.result == TLS_HELLO_MORE || same(&early, &whole));
    split(data, size);
    if (size > 5)
        split(data + 5, size - 5);
    return 0;
}
