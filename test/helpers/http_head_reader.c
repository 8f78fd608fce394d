/*
 * Reads requests from stdin, each behind its length in four bytes, the most significant one first. For each
 * it prints one line: how our parser understood it, as JSON with every text in hex.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/http_body.h"
#include "protocol/http_head.h"

#define REQUEST_MAX (1u << 20)

static void print_hex(const char *label, const char *bytes, size_t size) {
    printf("\"%s\":\"", label);
    for (size_t i = 0; i < size; i++)
        printf("%02x", (unsigned char)bytes[i]);
    printf("\",");
}

static void print_body(const struct http_request *request, const uint8_t *bytes, size_t size) {
    static const char *const framings[] = {"none", "length", "chunked"};
    struct http_body body;
    size_t taken;
    http_body_init(&body, request->framing, request->length);
    enum parse_state state = http_body_take(&body, bytes, size, &taken);
    printf("\"framing\":\"%s\",\"body\":%zu,\"bodyState\":%d", framings[request->framing], taken, (int)state);
}

static void print_request(const struct http_request *request, const uint8_t *bytes, size_t size) {
    size_t rewritten_size = 0;
    char *rewritten = http_request_rewrite(request, "upstream.example.com", &rewritten_size);
    print_hex("method", request->method.start, request->method.length);
    print_hex("host", request->host.start, request->host.length);
    print_hex("path", request->path.start, request->path.length);
    print_hex("rewritten", rewritten, rewritten_size);
    free(rewritten);
    for (size_t i = 0; i < request->field_count; i++) {
        char label[32];
        snprintf(label, sizeof label, "name%zu", i);
        print_hex(label, request->fields[i].name.start, request->fields[i].name.length);
        snprintf(label, sizeof label, "value%zu", i);
        print_hex(label, request->fields[i].value.start, request->fields[i].value.length);
    }
    printf("\"fields\":%zu,\"port\":%u,\"minor\":%u,\"size\":%zu,", request->field_count, request->port,
           request->minor, request->size);
    print_body(request, bytes + request->size, size - request->size);
}

static void judge(const uint8_t *bytes, size_t size) {
    static const char *const states[] = {"more", "done", "invalid"};
    static struct http_request request;
    const char *why = "";
    enum parse_state state = http_request_parse(bytes, size, &request, &why);
    printf("{");
    print_hex("why", why, state == PARSE_INVALID ? strlen(why) : 0);
    printf("\"state\":\"%s\"", states[state]);
    if (state == PARSE_DONE) {
        printf(",");
        print_request(&request, bytes, size);
    }
    printf("}\n");
}

int main(void) {
    uint8_t header[4];
    while (fread(header, 1, sizeof header, stdin) == sizeof header) {
        size_t size = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
        uint8_t *bytes = malloc(size + 1); /* one more where there is none at all */
        if (bytes == NULL || size > REQUEST_MAX || fread(bytes, 1, size, stdin) != size)
            return 1;
        judge(bytes, size);
        free(bytes);
    }
    return 0;
}
