/* Fuzzes the reader of response heads: what goes to the client is strict, and stays as it is when it is
 * rewritten again. */
#include "exact.h"
#include "protocol/http_response.h"

/* No line feed without its carriage return, no carriage return without its line feed, one empty line at the
 * end. */
static void check_strict(const char *head, size_t size) {
    check(size > 4 && memmem(head, size, "\r\n\r\n", 4) == head + size - 4);
    for (size_t i = 0; i < size; i++) {
        check(head[i] != '\0');
        check(head[i] != '\n' || (i > 0 && head[i - 1] == '\r'));
        check(head[i] != '\r' || (i + 1 < size && head[i + 1] == '\n'));
    }
}

static void check_again(const char *head, size_t size, unsigned status) {
    size_t taken, again_size;
    unsigned again_status;
    char *again;
    uint8_t *bytes = exact_copy(head, size);
    enum parse_state state = http_response_rewrite(bytes, size, &taken, &again_status, &again, &again_size);
    if (size <= HTTP_RESPONSE_HEAD_MAX) {
        check(state == PARSE_DONE && taken == size && again_status == status);
        check(again_size == size && memcmp(again, head, size) == 0);
    }
    free(again);
    free(bytes);
}

static enum parse_state connect_reply(const uint8_t *data, size_t size) {
    size_t taken;
    unsigned status;
    enum parse_state state = http_connect_reply_parse(data, size, &taken, &status);
    check(state != PARSE_DONE || (taken <= size && status >= 100 && status <= 999));
    return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t taken, rewritten_size, cut = cut_of(data, size);
    unsigned status;
    char *rewritten;
    uint8_t *bytes = exact_copy(data, size), *part = exact_copy(data, cut);
    enum parse_state early = http_response_rewrite(part, cut, &taken, &status, &rewritten, &rewritten_size);
    free(rewritten);
    enum parse_state state = http_response_rewrite(bytes, size, &taken, &status, &rewritten, &rewritten_size);
    check(early == PARSE_MORE || early == state);
    check((rewritten != NULL) == (state == PARSE_DONE));
    if (state == PARSE_DONE) {
        check(taken <= size && status >= 100 && status != 101);
        check_strict(rewritten, rewritten_size);
        check_again(rewritten, rewritten_size, status);
    }
    enum parse_state reply = connect_reply(bytes, size);
    check(reply == state || (reply == PARSE_DONE && state == PARSE_INVALID));
    free(rewritten);
    free(bytes);
    free(part);
    return 0;
}
