#include "protocol/http_head.h"

#include <stdlib.h>

#include "guarded.h"
#include "tap.h"

#define H "Host: example.com\r\n"
#define GET "GET http://example.com/ HTTP/1.1\r\n"
#define POST "POST http://example.com/ HTTP/1.1\r\n" H
#define CONNECT "CONNECT example.com:443 HTTP/1.1\r\n"
/* Of 1.0, which needs no Host. */
#define TARGET(target) "GET " target " HTTP/1.0\r\n\r\n"
#define TUNNEL(target) "CONNECT " target " HTTP/1.0\r\n\r\n"

static char text_of[512];

static const char *as_text(struct http_text text) {
    snprintf(text_of, sizeof text_of, "%.*s", (int)text.length, text.start);
    return text_of;
}

/* A request, and how it is understood: "host port path framing". */
static const struct {
    const char *request, *read;
} accepted[] = {
    {GET H "\r\n", "example.com 80 / none"},
    {TARGET("http://example.com"), "example.com 80  none"},
    {TARGET("HTTP://Example.COM:8080/a?b=c"), "Example.COM 8080 /a?b=c none"},
    {TARGET("http://example.com?q"), "example.com 80 ?q none"},
    {TARGET("http://example.com/a|b{c}\\\"'<>^`"), "example.com 80 /a|b{c}\\\"'<>^` none"},
    {TARGET("http://example.com/\xc3\xbc"), "example.com 80 /\xc3\xbc none"},
    {TARGET("http://example.com/http://other.example.com/@"),
     "example.com 80 /http://other.example.com/@ none"},
    {TARGET("http://[2001:db8::7]:81/x"), "2001:db8::7 81 /x none"},
    {TARGET("http://[::ffff:192.0.2.7]/"), "::ffff:192.0.2.7 80 / none"},
    {TARGET("http://2130706433/"), "2130706433 80 / none"},
    {TARGET("http://a_b.example.com./"), "a_b.example.com. 80 / none"},
    {GET "host:\t example.com \t\r\n\r\n", "example.com 80 / none"},
    {GET "HOST: EXAMPLE.com:80\r\n\r\n", "example.com 80 / none"},
    {GET "Host: example.com.\r\n\r\n", "example.com 80 / none"},
    {"GET http://example.com:81/ HTTP/1.1\r\nHost: example.com:81\r\n\r\n", "example.com 81 / none"},
    {"GET http://[2001:db8::7]/ HTTP/1.1\r\nHost: [2001:DB8:0::7]\r\n\r\n", "2001:db8::7 80 / none"},
    {"GET http://0x7f.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "0x7f.1 80 / none"},
    {"GET http://[::ffff:7f00:1]/ HTTP/1.1\r\nHost: 127.1\r\n\r\n", "::ffff:7f00:1 80 / none"},
    {"OPTIONS http://example.com HTTP/1.1\r\n" H "\r\n", "example.com 80  none"},
    {"M-SEARCH http://example.com/ HTTP/1.1\r\n" H "\r\n", "example.com 80 / none"},
    {POST "Content-Length: 0\r\n\r\n", "example.com 80 / 0"},
    {POST "Content-Length: 0012\r\n\r\n", "example.com 80 / 12"},
    {POST "content-length:9223372036854775807\r\n\r\n", "example.com 80 / 9223372036854775807"},
    {POST "Transfer-Encoding: Chunked\r\n\r\n", "example.com 80 / chunked"},
    {POST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", "example.com 80 / 5"},
    {GET H "X: \r\nY:a\tb\r\nZ: \xc3\xbc:\r\n\r\n", "example.com 80 / none"},
    /* Python's urllib, socat, openssl s_client -proxy. */
    {TUNNEL("example.com:443"), "example.com 443  none"},
    {CONNECT "Host: example.com:443\r\nUser-Agent: curl\r\nProxy-Connection: Keep-Alive\r\n\r\n",
     "example.com 443  none"},
    /* npm and Java leave the port out. */
    {CONNECT H "\r\n", "example.com 443  none"},
    {CONNECT H "Content-Length: 0\r\n\r\n", "example.com 443  0"},
    {TUNNEL("[2001:db8::7]:22"), "2001:db8::7 22  none"},
    {TUNNEL("192.0.2.7:65535"), "192.0.2.7 65535  none"},
    {TUNNEL("0177.0.0.1:1"), "0177.0.0.1 1  none"},
};

#define USER "user information in the target"
#define HOST_BYTE "a byte in the host that no host name has"
#define NO_HOST "no host in the target"
#define NO_PORT "no valid port in the target"
#define BRACKETS "no IPv6 address in the brackets"
#define ABSOLUTE "the target is no absolute http:// URL"
#define VERSION "a version that is neither HTTP/1.0 nor HTTP/1.1"
#define WORDS "the request line is not \"method target version\""
#define OTHER_HOST "Host is not the target's host and port"
#define LF "a line feed without a carriage return"
#define CR "a carriage return without a line feed"
#define CONTROL "a control byte in the head"
#define NAME "a field name that is no token"
#define FOLD "a field that goes on in the next line"
#define NUMBER "Content-Length is no number"
#define TWO_LENGTHS "two Content-Length fields"
#define CODING "a Transfer-Encoding other than chunked"

static const struct {
    const char *request, *why;
} refused[] = {
    {"\r\n" GET H "\r\n", WORDS},
    {"GET http://example.com/\r\n\r\n", WORDS},
    {"GET  http://example.com/ HTTP/1.1\r\n" H "\r\n", WORDS},
    {" GET http://example.com/ HTTP/1.1\r\n" H "\r\n", WORDS},
    {"GET http://example.com/ x HTTP/1.1\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/1.1 \r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/1.1\t\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/0.9\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/1.2\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/1.10\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/2.0\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ http/1.1\r\n" H "\r\n", VERSION},
    {"GET http://example.com/ HTTP/01.1\r\n" H "\r\n", VERSION},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", VERSION},
    {"G@T http://example.com/ HTTP/1.1\r\n" H "\r\n", "the method is no token"},
    {"G\xc3\x89T http://example.com/ HTTP/1.1\r\n" H "\r\n", "the method is no token"},
    {"GET\thttp://example.com/ HTTP/1.1\r\n" H "\r\n", WORDS},
    {"GET http://example.com/\ta HTTP/1.1\r\n" H "\r\n", "a tab in the target"},
    {"connect example.com:443 HTTP/1.1\r\n" H "\r\n", "CONNECT is written in capitals"},
    {"Connect http://example.com/ HTTP/1.1\r\n" H "\r\n", "CONNECT is written in capitals"},
    /* Targets. */
    {TARGET("/"), "this is a proxy: the target must be an absolute http:// URL"},
    {TARGET("*"), "this is a proxy: the target must be an absolute http:// URL"},
    {TARGET("https://example.com/"), "https:// goes through a proxy by CONNECT"},
    {TARGET("ftp://example.com/"), ABSOLUTE},
    {TARGET("ws://example.com/"), ABSOLUTE},
    {TARGET("example.com:80"), ABSOLUTE},
    {TARGET("http:example.com"), ABSOLUTE},
    {TARGET("http:/example.com"), ABSOLUTE},
    {TARGET("http:\\\\example.com/"), ABSOLUTE},
    {TARGET("http://"), NO_HOST},
    {TARGET("http:///example.com"), NO_HOST},
    {TARGET("http://:80/"), NO_HOST},
    {TARGET("http://?example.com"), NO_HOST},
    {TARGET("http://user@example.com/"), USER},
    {TARGET("http://user:secret@example.com/"), USER},
    {TARGET("http://example.com:80@other.example.com/"), USER},
    {TARGET("http://@example.com/"), USER},
    {TARGET("http://example.com#@other.example.com/"), "a fragment in the target"},
    {TARGET("http://example.com/a#b"), "a fragment in the target"},
    {TARGET("http://example.com\\.other.example.com/"), HOST_BYTE},
    {TARGET("http://example.com%00.other.example.com/"), HOST_BYTE},
    {TARGET("http://example.com%2eother/"), HOST_BYTE},
    {TARGET("http://ex\xc3\xa4mple.com/"), HOST_BYTE},
    {TARGET("http://example.com,other.example.com/"), HOST_BYTE},
    {TARGET("http://example.com;80/"), HOST_BYTE},
    {TARGET("http://*.example.com/"), HOST_BYTE},
    {TARGET("http://example.com:/"), NO_PORT},
    {TARGET("http://example.com:0/"), NO_PORT},
    {TARGET("http://example.com:080/"), NO_PORT},
    {TARGET("http://example.com:65536/"), NO_PORT},
    {TARGET("http://example.com:99999999999999999999/"), NO_PORT},
    {TARGET("http://example.com:+80/"), NO_PORT},
    {TARGET("http://example.com:80:80/"), NO_PORT},
    {TARGET("http://example.com:http/"), NO_PORT},
    {TARGET("http://[::1"), "a bracket that nothing closes"},
    {TARGET("http://[::1%lo]/"), BRACKETS},
    {TARGET("http://[::1%25lo]/"), BRACKETS},
    {TARGET("http://[127.0.0.1]/"), BRACKETS},
    {TARGET("http://[example.com]/"), BRACKETS},
    {TARGET("http://[v1.x]/"), BRACKETS},
    {TARGET("http://[]/"), BRACKETS},
    {TARGET("http://[[::1]]/"), BRACKETS},
    {TARGET("http://[::1]x/"), NO_PORT},
    {TARGET("http://2001:db8::7/"), NO_PORT},
    {TUNNEL("example.com"), "CONNECT without a port"},
    {TUNNEL("[2001:db8::7]"), "CONNECT without a port"},
    {TUNNEL("example.com:"), NO_PORT},
    {TUNNEL("example.com:0"), NO_PORT},
    {TUNNEL("example.com:443/"), NO_PORT},
    {TUNNEL("http://example.com:443"), NO_PORT},
    {TUNNEL("user@example.com:443"), USER},
    {TUNNEL("example.com/:443"), HOST_BYTE},
    {TUNNEL("example%00.com:443"), HOST_BYTE},
    {TUNNEL("::1:443"), NO_HOST},
    {TUNNEL(":443"), NO_HOST},
    /* Host. */
    {GET "\r\n", "no Host field"},
    {GET "X: example.com\r\n\r\n", "no Host field"},
    {GET H H "\r\n", "two Host fields"},
    {"GET http://example.com/ HTTP/1.0\r\n" H H "\r\n", "two Host fields"},
    {GET "Host:\r\n\r\n", OTHER_HOST},
    {GET "Host: other.example.com\r\n\r\n", OTHER_HOST},
    {GET "Host: example.com, other.example.com\r\n\r\n", OTHER_HOST},
    {GET "Host: user@example.com\r\n\r\n", OTHER_HOST},
    {GET "Host: example.com:81\r\n\r\n", OTHER_HOST},
    {GET "Host: example.com..\r\n\r\n", OTHER_HOST},
    {GET "Host: http://example.com\r\n\r\n", OTHER_HOST},
    {"GET http://example.com:81/ HTTP/1.1\r\n" H "\r\n", OTHER_HOST},
    {"GET http://example.com/ HTTP/1.0\r\nHost: other.example.com\r\n\r\n", OTHER_HOST},
    {"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n", OTHER_HOST},
    {CONNECT "Host: other.example.com:443\r\n\r\n", OTHER_HOST},
    {CONNECT "Host: example.com:80\r\n\r\n", OTHER_HOST},
    /* Lines and fields. */
    {"GET http://example.com/ HTTP/1.1\nHost: example.com\n\n", LF},
    {GET H "X: a\n\r\n", LF},
    {GET H "\n", LF},
    {GET "X: a\rHost: example.com\r\n\r\n", CR},
    {GET H "X:\rContent-Length: 5\r\n\r\n", CR},
    {GET H "\r\r\n", CR},
    {GET H "X: a\x01\r\n\r\n", CONTROL},
    {GET H "X: a\x7f\r\n\r\n", CONTROL},
    {GET H "X: a\x0b\r\n\r\n", CONTROL},
    {"\x16\x03\x01", CONTROL},
    {GET H "Content-Length : 5\r\n\r\n", NAME},
    {GET H "Content-Length\t: 5\r\n\r\n", NAME},
    {GET H ": a\r\n\r\n", NAME},
    {GET H "a b: c\r\n\r\n", NAME},
    {GET H "\xc3\xbc: c\r\n\r\n", NAME},
    {GET H "X(a): c\r\n\r\n", NAME},
    {GET H "nothing\r\n\r\n", "a field without a colon"},
    {GET H "X: a\r\n b\r\n\r\n", FOLD},
    {GET H "X: a\r\n\tContent-Length: 5\r\n\r\n", FOLD},
    {GET " Host: example.com\r\n\r\n", FOLD},
    /* Framing. */
    {POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", TWO_LENGTHS},
    {POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", TWO_LENGTHS},
    {POST "Content-Length: 5, 5\r\n\r\n", NUMBER},
    {POST "Content-Length: +5\r\n\r\n", NUMBER},
    {POST "Content-Length: -5\r\n\r\n", NUMBER},
    {POST "Content-Length: 0x5\r\n\r\n", NUMBER},
    {POST "Content-Length: 5 5\r\n\r\n", NUMBER},
    {POST "Content-Length: 5a\r\n\r\n", NUMBER},
    {POST "Content-Length: \"5\"\r\n\r\n", NUMBER},
    {POST "Content-Length:\r\n\r\n", NUMBER},
    {POST "Content-Length: 9223372036854775808\r\n\r\n", NUMBER},
    {POST "Content-Length: 18446744073709551621\r\n\r\n", NUMBER},
    {POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "Transfer-Encoding and Content-Length"},
    {POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding and Content-Length"},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "two Transfer-Encoding fields"},
    {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", CODING},
    {POST "Transfer-Encoding: chunked, chunked\r\n\r\n", CODING},
    {POST "Transfer-Encoding: identity\r\n\r\n", CODING},
    {POST "Transfer-Encoding: xchunked\r\n\r\n", CODING},
    {POST "Transfer-Encoding: chunked;a=b\r\n\r\n", CODING},
    {POST "Transfer-Encoding: \"chunked\"\r\n\r\n", CODING},
    {POST "Transfer-Encoding:\r\n\r\n", CODING},
    {"POST http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
     "Transfer-Encoding in HTTP/1.0"},
    {CONNECT H "Content-Length: 5\r\n\r\n", "CONNECT with a body"},
    {CONNECT H "Transfer-Encoding: chunked\r\n\r\n", "CONNECT with a body"},
};

static const char *framing_of(const struct http_request *request) {
    static char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)request->length);
    return request->framing == HTTP_NO_BODY ? "none" : request->framing == HTTP_CHUNKED ? "chunked" : text;
}

static void test_accepted(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        const char *request = accepted[i].request, *why = NULL;
        size_t size = strlen(request), early = 0;
        struct http_request out;
        char read[512];
        for (size_t part = 0; part < size; part++)
            early += http_request_parse(guarded(request, part), part, &out, &why) != PARSE_MORE;
        enum parse_state state = http_request_parse(guarded(request, size), size, &out, &why);
        if (!ok(state == PARSE_DONE && early == 0 && out.size == size,
                "is accepted when whole, not earlier")) {
            diag("request", request);
            diag("why", why);
            continue;
        }
        snprintf(read, sizeof read, "%.*s %u %.*s %s", (int)out.host.length, out.host.start, out.port,
                 (int)out.path.length, out.path.start, framing_of(&out));
        is_str(read, accepted[i].read, "and read as it is meant");
        ok(out.connect == (request[0] == 'C'), "CONNECT is told from the rest");
    }
}

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *request = refused[i].request, *why = NULL, *first = NULL;
        size_t size = strlen(request);
        struct http_request out;
        enum parse_state state = PARSE_MORE;
        /* Where it was seen first it stays, with the same reason. */
        for (size_t part = 0; part < size && state == PARSE_MORE; part++)
            state = http_request_parse(guarded(request, part), part, &out, &first);
        ok(state != PARSE_DONE, "byte by byte it never becomes a request");
        state = http_request_parse(guarded(request, size), size, &out, &why);
        if (!ok(state == PARSE_INVALID && (first == NULL || strcmp(first, why) == 0), "is refused: %s",
                refused[i].why))
            diag("request", request);
        is_str(why, refused[i].why, "for that reason");
    }
}

static void test_nul(void) {
    static const char name[] = GET H "X\0: a\r\n\r\n", value[] = GET H "X: a\0b\r\n\r\n";
    static const char target[] = "CONNECT example.com\0.example.org:443 HTTP/1.0\r\n\r\n";
    const struct {
        const char *bytes;
        size_t size;
    } rows[] = {{name, sizeof name - 1}, {value, sizeof value - 1}, {target, sizeof target - 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_request out;
        const char *why = NULL;
        ok(http_request_parse(guarded(rows[i].bytes, rows[i].size), rows[i].size, &out, &why) ==
               PARSE_INVALID,
           "a NUL is refused");
        is_str(why, CONTROL, "as a control byte");
    }
}

/* --- bounds --- */

/* A head of that size, of fields of 1000 bytes. */
static char *head_of(size_t size) {
    char *head = malloc(size + 2);
    if (head == NULL)
        abort();
    size_t at = (size_t)sprintf(head, "%s", GET H "A: ");
    for (size_t start = at; at < size - 4; at++) {
        bool end = at + 1 - start >= 1000 && size - 4 - at > 10;
        head[at] = 'a';
        if (end) {
            memcpy(head + at - 4, "\r\nA: ", 5);
            start = at + 1;
        }
    }
    memcpy(head + size - 4, "\r\n\r\n", 4);
    return head;
}

static void test_size(void) {
    struct http_request out;
    const char *why = NULL;
    char *most = head_of(HTTP_HEAD_MAX), *more = head_of(HTTP_HEAD_MAX + 1);
    ok(http_request_parse(guarded(most, HTTP_HEAD_MAX), HTTP_HEAD_MAX, &out, &why) == PARSE_DONE,
       "a head of 32 KiB is read");
    is_int((long long)out.size, HTTP_HEAD_MAX, "and is as long as that");
    ok(http_request_parse(guarded(more, HTTP_HEAD_MAX - 1), HTTP_HEAD_MAX - 1, &out, &why) == PARSE_MORE,
       "one byte below there may come more");
    ok(http_request_parse(guarded(more, HTTP_HEAD_MAX), HTTP_HEAD_MAX, &out, &why) == PARSE_INVALID,
       "at the bound there may not");
    is_str(why, "a head of more than 32 KiB", "which is said");
    ok(http_request_parse(guarded(more, HTTP_HEAD_MAX + 1), HTTP_HEAD_MAX + 1, &out, &why) == PARSE_INVALID,
       "a longer head is refused when it arrives whole, too");
    free(most);
    free(more);
}

static void test_count(void) {
    for (size_t count = HTTP_FIELDS_MAX; count <= HTTP_FIELDS_MAX + 1; count++) {
        char head[8192] = GET H;
        for (size_t i = 1; i < count; i++)
            strcat(head, "a:\r\n");
        strcat(head, "\r\n");
        struct http_request out;
        const char *why = "none";
        bool fits = count == HTTP_FIELDS_MAX;
        ok(http_request_parse(guarded(head, strlen(head)), strlen(head), &out, &why) ==
               (fits ? PARSE_DONE : PARSE_INVALID),
           "%zu fields", count);
        is_str(why, fits ? "none" : "too many fields", "are within the bound, or above it");
    }
}

/* What follows the head is none of it. */
static void test_rest(void) {
    static const char request[] = POST "Content-Length: 5\r\n\r\nGET /";
    struct http_request out;
    const char *why = NULL;
    ok(http_request_parse(guarded(request, strlen(request)), strlen(request), &out, &why) == PARSE_DONE,
       "a head with a body behind it is read");
    is_str(request + out.size, "GET /", "and ends where the body begins");
    ok(http_request_field(&out, "CONTENT-length") == &out.fields[1], "a field is found by its name");
    is_str(as_text(out.fields[1].value), "5", "with its value");
    ok(http_request_field(&out, "Content") == NULL, "another is not");
}

/* --- what goes upstream --- */

static const struct {
    const char *request, *rewritten;
} rewrites[] = {
    {GET H "Accept: */*\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: AUTHORITY\r\nAccept: */*\r\nConnection: close\r\n\r\n"},
    {TARGET("http://example.com?q"), "GET /?q HTTP/1.0\r\nHost: AUTHORITY\r\nConnection: close\r\n\r\n"},
    {TARGET("http://example.com"), "GET / HTTP/1.0\r\nHost: AUTHORITY\r\nConnection: close\r\n\r\n"},
    {TARGET("http://example.com//a"), "GET //a HTTP/1.0\r\nHost: AUTHORITY\r\nConnection: close\r\n\r\n"},
    {"OPTIONS http://example.com HTTP/1.1\r\n" H "\r\n",
     "OPTIONS * HTTP/1.1\r\nHost: AUTHORITY\r\nConnection: close\r\n\r\n"},
    {"OPTIONS http://example.com/ HTTP/1.1\r\n" H "\r\n",
     "OPTIONS / HTTP/1.1\r\nHost: AUTHORITY\r\nConnection: close\r\n\r\n"},
    {GET H "Connection: keep-alive, X-Mine ,\tTE\r\nconnection: x-yours\r\nX-Mine: 1\r\nX-Yours: "
           "2\r\nX-Other: 3\r\n"
           "Keep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nTrailer: X\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: AUTHORITY\r\nX-Other: 3\r\nConnection: close\r\n\r\n"},
    {GET H "Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nproxy-x: y\r\nProxy: z\r\n"
           "Authorization: Basic eA==\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: AUTHORITY\r\nProxy: z\r\nAuthorization: Basic eA==\r\nConnection: "
     "close\r\n\r\n"},
    {POST "CONTENT-LENGTH: 0005\r\nExpect: 100-continue\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: AUTHORITY\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: "
     "close\r\n\r\n"},
    {POST "Connection: Content-Length, Host\r\nContent-Length: 5\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: AUTHORITY\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
    {POST "Connection: transfer-encoding\r\nTransfer-Encoding: CHUNKED\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: AUTHORITY\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"},
    {GET "X:  a\tb  \r\n" H "Empty:\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: AUTHORITY\r\nX: a\tb\r\nEmpty: \r\nConnection: close\r\n\r\n"},
};

static void test_rewrite(void) {
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        const char *request = rewrites[i].request, *why = NULL;
        size_t size = 0;
        struct http_request out;
        if (!ok(http_request_parse(guarded(request, strlen(request)), strlen(request), &out, &why) ==
                    PARSE_DONE,
                "is read")) {
            diag(request, why);
            continue;
        }
        char *rewritten = http_request_rewrite(&out, "AUTHORITY", &size);
        char copy[1024];
        snprintf(copy, sizeof copy, "%.*s", (int)size, rewritten);
        is_str(copy, rewrites[i].rewritten, "and goes upstream in another form");
        free(rewritten);
    }
}

int main(void) {
    test_accepted();
    test_refused();
    test_nul();
    test_size();
    test_count();
    test_rest();
    test_rewrite();
    return done_testing();
}
