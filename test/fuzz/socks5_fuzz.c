/* Fuzzes the readers of SOCKS5's greeting and request, one behind the other as on a connection. */
#include "exact.h"
#include "protocol/socks5.h"

static void request(const uint8_t *data, size_t size) {
    struct socks5_request out, early_out;
    enum socks5_reply_code reply, early_reply;
    size_t cut = cut_of(data, size);
    uint8_t *bytes = exact_copy(data, size), *part = exact_copy(data, cut);
    enum parse_state early = socks5_request_parse(part, cut, &early_out, &early_reply);
    enum parse_state state = socks5_request_parse(bytes, size, &out, &reply);
    check(early == PARSE_MORE || (early == state && early_reply == reply));
    check((state == PARSE_INVALID && reply != SOCKS5_OK) || state != PARSE_INVALID);
    if (state == PARSE_DONE) {
        check(out.size <= size && out.port != 0 && reply == SOCKS5_OK);
        check(out.host_length > 0 && strlen(out.host) == out.host_length);
        for (size_t i = 0; i < out.host_length; i++)
            check(out.host[i] > 0x20 && out.host[i] < 0x7f);
    }
    free(bytes);
    free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t taken = 0;
    uint8_t method = 1;
    uint8_t *bytes = exact_copy(data, size);
    enum parse_state state = socks5_greeting_parse(bytes, size, &taken, &method);
    if (state == PARSE_DONE) {
        check(taken <= size && (method == 0 || method == 0xff));
        request(data + taken, size - taken);
    }
    request(data, size);
    free(bytes);
    return 0;
}
