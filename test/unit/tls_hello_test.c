#include "protocol/tls_hello.h"

#include <stdlib.h>

#include "guarded.h"
#include "tap.h"
#include "tls_hellos.h"

#define HANDSHAKE_MAX 2048

struct bytes {
    uint8_t at[TLS_HELLO_MAX + 4096];
    size_t size;
};

static void add(struct bytes *out, const void *bytes, size_t size) {
    if (out->size + size > sizeof out->at)
        abort();
    memcpy(out->at + out->size, bytes, size);
    out->size += size;
}

static void add_number(struct bytes *out, size_t size, size_t value) {
    for (size_t i = size; i-- > 0;)
        add(out, &(uint8_t){(uint8_t)(value >> (8 * i))}, 1);
}

static void add_record(struct bytes *out, const void *bytes, size_t size) {
    add(out, "\x16\x03\x01", 3);
    add_number(out, 2, size);
    add(out, bytes, size);
}

static enum tls_hello judge(const struct bytes *bytes, char name[256]) {
    return tls_hello_server_name(guarded(bytes->at, bytes->size), bytes->size, name);
}

/* --- real ones --- */

static void from_hex(const char *hex, struct bytes *out) {
    out->size = 0;
    for (; hex[0] != '\0'; hex += 2)
        add_number(out, 1, strtoul((char[]){hex[0], hex[1], '\0'}, NULL, 16));
}

/* Whether the hello comes out like that, and nothing earlier does. */
static bool is_named(const struct bytes *bytes, const char *wanted, size_t step) {
    char name[256] = "untouched";
    for (size_t part = 0; part < bytes->size; part += step)
        if (tls_hello_server_name(guarded(bytes->at, part), part, name) != TLS_HELLO_MORE)
            return false;
    enum tls_hello result = judge(bytes, name);
    return wanted == NULL ? result == TLS_HELLO_NAMELESS && strcmp(name, "untouched") == 0
                          : result == TLS_HELLO_NAMED && strcmp(name, wanted) == 0;
}

static void test_real(void) {
    static struct bytes whole, split;
    for (size_t i = 0; i < sizeof tls_hello_samples / sizeof *tls_hello_samples; i++) {
        const struct tls_hello_sample *sample = &tls_hello_samples[i];
        from_hex(sample->hex, &whole);
        ok(is_named(&whole, sample->name, 1), "%s: the name is found when the hello is whole",
           sample->client);
        const uint8_t *message = whole.at + 5;
        size_t size = whole.size - 5, alike = 0;
        for (size_t at = 1; at < size; at++) {
            split.size = 0;
            add_record(&split, message, at);
            add_record(&split, message + at, size - at);
            alike += is_named(&split, sample->name, 97);
        }
        is_int((long long)alike, (long long)size - 1, "also when it is in two records, wherever it is split");
        split.size = 0;
        for (size_t at = 0; at < size; at++)
            add_record(&split, message + at, 1);
        ok(is_named(&split, sample->name, 97), "and when every byte has a record of its own");
        add(&whole, "more", 4);
        char name[256];
        is_int(judge(&whole, name), sample->name == NULL ? TLS_HELLO_NAMELESS : TLS_HELLO_NAMED,
               "what follows it is not looked at");
    }
}

/* --- made ones --- */

#define V12 "\3\3"
#define CIPHERS "\0\2\x13\1"
#define NO_COMPRESSION "\1\0"
#define SNI(length3, length5, length, name) "\0\0\0" length3 "\0" length5 "\0\0" length name
#define SNI_EXAMPLE SNI("\x10", "\xe", "\xb", "example.com")
#define GREASE "\x1a\x1a\0\0"
#define GREASE_FULL "\x2a\x2a\0\1\0"
#define ALPN "\0\x10\0\5\0\3\2h2"
/* Of an outer hello: type, suite, configuration, key, payload. */
#define ECH_OUTER "\xfe\xd\0\xd\0\0\1\0\1\7\0\1k\0\2pp"
#define TICKET "\0\x23\0\4tick"
#define PADDING "\0\x15\0\3\0\0\0"
#define NO_EXTENSIONS NULL, 0
#define B(text) text, sizeof(text) - 1

#define NAMED TLS_HELLO_NAMED
#define NAMELESS TLS_HELLO_NAMELESS
#define MALFORMED TLS_HELLO_MALFORMED

/* Lists of extensions, in a hello that is right otherwise. */
static const struct {
    const char *extensions;
    size_t size;
    enum tls_hello result;
    const char *name, *what;
} lists[] = {
    {B(SNI_EXAMPLE), NAMED, "example.com", "a name alone"},
    {B(GREASE SNI_EXAMPLE GREASE_FULL), NAMED, "example.com", "a name between unknown extensions"},
    {B(ALPN TICKET SNI_EXAMPLE PADDING), NAMED, "example.com", "a name between known ones"},
    {B(ECH_OUTER SNI_EXAMPLE), NAMED, "example.com", "the outer name where there is an encrypted hello"},
    {B(SNI("\x10", "\xe", "\xb", "Exa-mpl_.9M")), NAMED, "Exa-mpl_.9M", "a name as it was sent"},
    {B(SNI("\x6", "\4", "\1", "a")), NAMED, "a", "a name of one letter"},
    {B(ALPN), NAMELESS, NULL, "extensions without a name"},
    {B(ECH_OUTER), NAMELESS, NULL, "an encrypted hello without an outer name"},
    {B(""), NAMELESS, NULL, "no extension at all"},
    {B(SNI_EXAMPLE SNI_EXAMPLE), MALFORMED, NULL, "the extension twice"},
    {B(ALPN SNI_EXAMPLE ALPN), MALFORMED, NULL, "another extension twice"},
    {B("\0\0\0\x1a\0\x18\0\0\xb"
       "example.com"
       "\0\0\7"
       "other.x"),
     MALFORMED, NULL, "two names in one extension"},
    {B("\0\0\0\0"), MALFORMED, NULL, "an extension of a name without a list"},
    {B("\0\0\0\2\0\0"), MALFORMED, NULL, "an empty list of names"},
    {B(SNI("\5", "\3", "\0", "")), MALFORMED, NULL, "an empty name"},
    {B("\0\0\0\x10\0\xe\1\0\xb"
       "example.com"),
     MALFORMED, NULL, "a name of another type"},
    {B(SNI("\x10", "\xd", "\xb", "example.com")), MALFORMED, NULL, "a list that is too short for its name"},
    {B(SNI("\x10", "\xf", "\xb", "example.com")), MALFORMED, NULL,
     "a list that is longer than its extension"},
    {B(SNI("\x11", "\xe", "\xb", "example.comx")), MALFORMED, NULL, "something behind the list"},
    {B(SNI("\x11", "\xf", "\xb", "example.comx")), MALFORMED, NULL, "something behind the name"},
    {B(SNI("\x10", "\xe", "\xc", "example.com")), MALFORMED, NULL, "a name that is longer than its list"},
    {B(SNI("\xf", "\xe", "\xb", "example.com")), MALFORMED, NULL,
     "an extension that is shorter than its list"},
    {B(SNI("\x10", "\xe", "\xb", "exam\0le.com")), MALFORMED, NULL, "a NUL in the name"},
    {B(SNI("\x10", "\xe", "\xb", "exam le.com")), MALFORMED, NULL, "a space in the name"},
    {B(SNI("\x10", "\xe", "\xb", "exam\nle.com")), MALFORMED, NULL, "a line feed in the name"},
    {B(SNI("\x10", "\xe", "\xb", "exam%le.com")), MALFORMED, NULL, "a percent sign in the name"},
    {B(SNI("\x10", "\xe", "\xb", "exam:le.com")), MALFORMED, NULL, "a colon in the name"},
    {B(SNI("\x10", "\xe", "\xb", "ex\xc3\xa4le.com")), MALFORMED, NULL, "other letters in the name"},
    {B(SNI_EXAMPLE "\0"), MALFORMED, NULL, "half an extension's type"},
    {B(SNI_EXAMPLE "\0\x10\0"), MALFORMED, NULL, "half an extension's length"},
    {B(SNI_EXAMPLE "\0\x10\0\1"), MALFORMED, NULL, "an extension that is longer than the list"},
};

/* A hello's body, its extensions included where there is a list. */
static void make_body(struct bytes *out, const char *before, size_t before_size, const char *extensions,
                      size_t size) {
    out->size = 0;
    add(out, before, before_size);
    if (extensions == NULL)
        return;
    add_number(out, 2, size);
    add(out, extensions, size);
}

static void make_hello(struct bytes *out, const struct bytes *body) {
    static struct bytes message;
    message.size = 0;
    add(&message, "\1", 1);
    add_number(&message, 3, body->size);
    add(&message, body->at, body->size);
    out->size = 0;
    for (size_t at = 0, part; at < message.size; at += part) {
        part = message.size - at > 16384 ? 16384 : message.size - at;
        add_record(out, message.at + at, part);
    }
}

#define RANDOM "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
#define BEFORE V12 RANDOM "\0" CIPHERS NO_COMPRESSION

static void test_lists(void) {
    static struct bytes body, hello;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char name[256] = "untouched";
        make_body(&body, B(BEFORE), lists[i].extensions, lists[i].size);
        make_hello(&hello, &body);
        ok(judge(&hello, name) == lists[i].result, "%s", lists[i].what);
        is_str(name, lists[i].name == NULL ? "untouched" : lists[i].name,
               "the name is written when there is one");
    }
}

/* What is before the extensions, and behind them. */
static const struct {
    const char *before;
    size_t size;
    const char *extensions;
    size_t extensions_size;
    enum tls_hello result;
    const char *what;
} bodies[] = {
    {B(BEFORE), NO_EXTENSIONS, NAMELESS, "a hello without a list of extensions"},
    {B("\3\1" RANDOM "\0" CIPHERS NO_COMPRESSION), B(SNI_EXAMPLE), NAMED, "an older version"},
    {B(V12 RANDOM "\x20" RANDOM CIPHERS NO_COMPRESSION), B(SNI_EXAMPLE), NAMED, "a session"},
    {B(V12 RANDOM "\0" CIPHERS "\2\1\0"), B(SNI_EXAMPLE), NAMED, "two compressions"},
    {B("\2\3" RANDOM "\0" CIPHERS NO_COMPRESSION), B(SNI_EXAMPLE), MALFORMED, "a foreign version"},
    {B(V12 RANDOM "\x21x" RANDOM CIPHERS NO_COMPRESSION), B(SNI_EXAMPLE), MALFORMED, "a session of 33 bytes"},
    {B(V12 RANDOM "\0\0\0" NO_COMPRESSION), B(SNI_EXAMPLE), MALFORMED, "no ciphers"},
    {B(V12 RANDOM "\0\0\3\x13\1\x13" NO_COMPRESSION), B(SNI_EXAMPLE), MALFORMED, "half a cipher"},
    {B(V12 RANDOM "\0" CIPHERS "\0"), B(SNI_EXAMPLE), MALFORMED, "no compression"},
    {B(BEFORE "\0\1"), NO_EXTENSIONS, MALFORMED, "a list of extensions that is missing"},
    {B(BEFORE "\0"), NO_EXTENSIONS, MALFORMED, "half the length of a list"},
    {B(BEFORE "\0\0x"), NO_EXTENSIONS, MALFORMED, "something behind an empty list"},
    {B(V12 RANDOM "\0" CIPHERS), NO_EXTENSIONS, MALFORMED, "an end before the compressions"},
    {B(V12 RANDOM "\0\0"), NO_EXTENSIONS, MALFORMED, "an end in the ciphers"},
    {B(V12 RANDOM "\x20s"), NO_EXTENSIONS, MALFORMED, "an end in the session"},
    {B(V12 "rrrr"), NO_EXTENSIONS, MALFORMED, "an end in the random bytes"},
    {B(""), NO_EXTENSIONS, MALFORMED, "nothing"},
};

static void test_bodies(void) {
    static struct bytes body, hello;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char name[256];
        make_body(&body, bodies[i].before, bodies[i].size, bodies[i].extensions, bodies[i].extensions_size);
        make_hello(&hello, &body);
        ok(judge(&hello, name) == bodies[i].result, "%s", bodies[i].what);
    }
}

static void test_long_name(void) {
    static struct bytes body, hello;
    for (size_t length = 255; length <= 256; length++) {
        struct bytes *list = &hello;
        char name[256], wanted[257];
        memset(wanted, 'a', length);
        wanted[length] = '\0';
        list->size = 0;
        add(list, "\0\0", 2);
        add_number(list, 2, length + 5);
        add_number(list, 2, length + 3);
        add(list, "\0", 1);
        add_number(list, 2, length);
        add(list, wanted, length);
        make_body(&body, B(BEFORE), (const char *)list->at, list->size);
        make_hello(&hello, &body);
        enum tls_hello result = judge(&hello, name);
        ok(length == 255 ? result == NAMED && strcmp(name, wanted) == 0 : result == MALFORMED,
           "a name of %zu bytes", length);
    }
}

/* --- records --- */

/* Beginnings of connections, with what comes of them. */
static const struct {
    const char *bytes;
    size_t size;
    enum tls_hello result;
    const char *what;
} beginnings[] = {
    {B(""), TLS_HELLO_MORE, "nothing yet"},
    {B("\x16"), TLS_HELLO_MORE, "a handshake's type"},
    {B("\x16\3\1\2\0\1\0\1\xfc"), TLS_HELLO_MORE, "the beginning of a hello"},
    {B("GET / HTTP/1.1\r\n"), TLS_HELLO_NOT_TLS, "HTTP"},
    {B("SSH-2.0-OpenSSH\r\n"), TLS_HELLO_NOT_TLS, "SSH"},
    {B("\0\0\0\10\4\xd2\x16\x2f"), TLS_HELLO_NOT_TLS, "PostgreSQL's wish for TLS"},
    {B("\x80\x2e\1\3\1\0\x15\0\0\0\x10"), TLS_HELLO_NOT_TLS, "a hello of SSL 2"},
    {B("\x17\3\3\0\1x"), TLS_HELLO_NOT_TLS, "encrypted data"},
    {B("\x16\2\1\2\0\1"), MALFORMED, "another major version"},
    {B("\x16\2\1\0\0\x16\3\1"), MALFORMED, "another one, with an empty record first"},
    {B("\x16H"), TLS_HELLO_MORE, "a handshake's byte and no version"},
    {B("\x16HELLO"), TLS_HELLO_NOT_TLS, "no version, and no hello behind it"},
    {B("\x16\1\0\1\x8d\xa2\xb\0"), TLS_HELLO_NOT_TLS, "MySQL's answer of 278 bytes"},
    {B("\x16\1\0\0\5\0\0\0"), TLS_HELLO_NOT_TLS, "MongoDB's question of 278 bytes"},
    {B("\x16\1\0\0\0\0\0\0"), TLS_HELLO_NOT_TLS, "the same, the first one"},
    {B("\x16\3\1\0\0"), MALFORMED, "an empty record"},
    {B("\x16\3\1\x40\1\1"), MALFORMED, "a record of more than 16 KiB"},
    {B("\x16\3\1\0\4\2\0\0\0"), MALFORMED, "a handshake that is no hello"},
    {B("\x16\3\1\0\1\2"), MALFORMED, "its first byte"},
    {B("\x16\3\1\0\4\1\0\xff\xf6"), TLS_HELLO_MORE, "a hello that may still fit"},
    {B("\x16\3\1\0\4\1\0\xff\xf8"), MALFORMED, "a hello that is longer than we look"},
    {B("\x16\3\1\0\4\1\xff\xff\xff"), MALFORMED, "the longest hello"},
    {B("\x16\3\1\0\2\1\0\x17"), MALFORMED, "encrypted data within a hello"},
    {B("\x16\3\1\0\2\1\0\x15\3\1\0\2\1\0"), MALFORMED, "an alert within a hello"},
    {B("\x16\3\1\0\2\1\0\x16\4"), MALFORMED, "another version within a hello"},
    {B("\x16\3\1\0\2\1\0\x16\3\1\0\0"), MALFORMED, "an empty record within a hello"},
    /* What servers may overlook before a hello. */
    {B("\x15\3\1\0\2\1\x5a\x16\3\1"), MALFORMED, "an alert before a hello"},
    {B("\x14\3\3\0\1\1\x16\3\1"), MALFORMED, "a change of ciphers before a hello"},
    {B("\x18\3\1\0\x20\1"), MALFORMED, "a heartbeat before a hello"},
    {B("\x15\3\1\0"), TLS_HELLO_MORE, "the beginning of an alert"},
    {B("\x14"), TLS_HELLO_MORE, "the beginning of a change of ciphers"},
    {B("\x15H"), TLS_HELLO_NOT_TLS, "an alert's byte and no version"},
    {B("\x15\3\0\0\x31\0\0\0"), TLS_HELLO_NOT_TLS, "a length that looks like an alert's beginning"},
    {B("\x14\3\0\0\x31\0\0\0"), TLS_HELLO_NOT_TLS, "a length that looks like a change's beginning"},
    {B("\x18\3\0\0\x31\0\0\0"), TLS_HELLO_NOT_TLS, "a length that looks like a heartbeat's beginning"},
};

static void test_beginnings(void) {
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        char name[256];
        ok(tls_hello_server_name(guarded(beginnings[i].bytes, beginnings[i].size), beginnings[i].size,
                                 name) == beginnings[i].result,
           "%s", beginnings[i].what);
    }
}

/* A hello of that many bytes of message, in records as long as they may be. */
static void make_long(struct bytes *hello, size_t message_size) {
    static struct bytes body;
    size_t list = message_size - 4 - (sizeof BEFORE - 1) - 2;
    make_body(&body, B(BEFORE), NULL, 0);
    add_number(&body, 2, list);
    add(&body, SNI_EXAMPLE, sizeof SNI_EXAMPLE - 1);
    add(&body, "\0\x15", 2);
    add_number(&body, 2, list - (sizeof SNI_EXAMPLE - 1) - 4);
    while (body.size < message_size - 4)
        add(&body, "", 1);
    make_hello(hello, &body);
}

static void test_bound(void) {
    static struct bytes hello, split;
    char name[256];
    make_long(&hello, TLS_HELLO_MAX - 4 * 5);
    is_int((long long)hello.size, TLS_HELLO_MAX, "a hello may have 64 KiB");
    ok(is_named(&hello, "example.com", 1021), "and is read");
    make_long(&hello, TLS_HELLO_MAX - 4 * 5 + 1);
    is_int(judge(&hello, name), MALFORMED, "a longer one is malformed");
    hello.size = TLS_HELLO_MAX;
    is_int(judge(&hello, name), MALFORMED, "as soon as the bound is reached");
    hello.size = TLS_HELLO_MAX - 1;
    is_int(judge(&hello, name), TLS_HELLO_MORE, "and not before");
    split.size = 0;
    add_record(&split, "\1", 1);
    while (split.size < TLS_HELLO_MAX)
        add_record(&split, split.size == 6 ? "\0" : "\x40", 1);
    is_int(judge(&split, name), MALFORMED, "records of one byte do not lead beyond it");
}

int main(void) {
    test_real();
    test_lists();
    test_bodies();
    test_long_name();
    test_beginnings();
    test_bound();
    return done_testing();
}
