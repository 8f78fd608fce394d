/*
 * Fuzzes the reader of request heads: what is accepted lies within the input, has nothing that another reader
 * could take otherwise, and reads the same again as it goes upstream.
 */
#include "exact.h"
#include "protocol/http_head.h"

static void check_within(struct http_text text, const uint8_t *bytes, size_t size) {
    const char *start = (const char *)bytes;
    check(text.length == 0 || (text.start >= start && text.start + text.length <= start + size));
    for (size_t i = 0; i < text.length; i++)
        check(text.start[i] != '\r' && text.start[i] != '\n' && text.start[i] != '\0');
}

static void check_request(const struct http_request *request, const uint8_t *bytes, size_t size) {
    check(request->size > 4 && request->size <= size && request->size <= HTTP_HEAD_MAX);
    check(memcmp(bytes + request->size - 4, "\r\n\r\n", 4) == 0);
    check(memmem(bytes, request->size, "\r\n\r\n", 4) == bytes + request->size - 4);
    check(request->host.length > 0 && request->port != 0 && request->minor <= 1);
    check(request->field_count <= HTTP_FIELDS_MAX);
    check_within(request->method, bytes, size);
    check_within(request->host, bytes, size);
    check_within(request->path, bytes, size);
    for (size_t i = 0; i < request->field_count; i++) {
        check_within(request->fields[i].name, bytes, size);
        check_within(request->fields[i].value, bytes, size);
    }
}

/* Behind "METHOD " an absolute target again: then it is a request to a proxy once more. */
static void check_rewritten(const struct http_request *request) {
    static const char prefix[] = "http://h.example.com";
    struct http_request again;
    const char *why = NULL;
    size_t size, skip = request->method.length + 1;
    char *rewritten = http_request_rewrite(request, "h.example.com", &size);
    check(rewritten != NULL && size > skip && memcmp(rewritten + size - 4, "\r\n\r\n", 4) == 0);
    bool asterisk = rewritten[skip] == '*';
    size_t rest = skip + asterisk, length = size - rest;
    uint8_t *absolute = malloc(size + sizeof prefix);
    check(absolute != NULL);
    memcpy(absolute, rewritten, skip);
    memcpy(absolute + skip, prefix, sizeof prefix - 1);
    memcpy(absolute + skip + sizeof prefix - 1, rewritten + rest, length);
    size_t total = skip + sizeof prefix - 1 + length;
    enum parse_state state = http_request_parse(absolute, total, &again, &why);
    /* A head at the bound may have grown over it. */
    if (total <= HTTP_HEAD_MAX && request->field_count + 2 <= HTTP_FIELDS_MAX) {
        check(state == PARSE_DONE && again.size == total && again.minor == request->minor);
        check(again.framing == request->framing && again.length == request->length);
        check(http_request_field(&again, "Proxy-Authorization") == NULL);
        check(memcmp(http_request_field(&again, "Connection")->value.start, "close\r\n", 7) == 0);
    }
    free(absolute);
    free(rewritten);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct http_request request;
    const char *why = NULL;
    size_t cut = cut_of(data, size);
    uint8_t *bytes = exact_copy(data, size), *part = exact_copy(data, cut);
    enum parse_state early = http_request_parse(part, cut, &request, &why);
    size_t early_size = request.size;
    enum parse_state state = http_request_parse(bytes, size, &request, &why);
    check(early == PARSE_MORE || (early == state && (state != PARSE_DONE || early_size == request.size)));
    check(state != PARSE_INVALID || why != NULL);
    if (state == PARSE_DONE) {
        check_request(&request, bytes, size);
        if (!request.connect)
            check_rewritten(&request);
    }
    free(bytes);
    free(part);
    return 0;
}
