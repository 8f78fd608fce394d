#include "policy/resolver_files.h"

#include <stdbool.h>
#include <string.h>

#include "policy/domain_pattern.h"
#include "policy/network_rules.h"

struct span {
    const char *start;
    size_t length;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next line of what is left, without its end. */
static bool next_line(struct span *text, struct span *line) {
    if (text->length == 0)
        return false;
    const char *end = memchr(text->start, '\n', text->length);
    size_t length = end == NULL ? text->length : (size_t)(end - text->start);
    size_t taken = end == NULL ? length : length + 1;
    *line = (struct span){text->start, length};
    *text = (struct span){text->start + taken, text->length - taken};
    return true;
}

/* The next word of a line. A comment begins with one of the marks, wherever a word may begin or end. */
static bool next_word(struct span *line, const char *marks, struct span *word) {
    size_t skipped = 0, length = 0;
    while (skipped < line->length && is_blank(line->start[skipped]))
        skipped++;
    const char *start = line->start + skipped;
    size_t left = line->length - skipped;
    while (length < left && !is_blank(start[length]) &&
           (start[length] == '\0' || strchr(marks, start[length]) == NULL))
        length++;
    *word = (struct span){start, length};
    *line = (struct span){start + length, left - length};
    return length > 0;
}

static bool is_word(struct span word, const char *text) {
    return word.length == strlen(text) && memcmp(word.start, text, word.length) == 0;
}

/* An IPv6 zone ("%eth0") does not belong to the address. */
static struct span without_zone(struct span word) {
    const char *zone = memchr(word.start, '%', word.length);
    if (zone != NULL)
        word.length = (size_t)(zone - word.start);
    return word;
}

static int push_name(struct strvec *out, struct span word) {
    char name[DOMAIN_NAME_MAX + 1];
    if (word.length > 1 && word.start[word.length - 1] == '.')
        word.length--;
    return domain_name_parse(word.start, word.length, name, NULL) == 0 ? strvec_push(out, name) : 0;
}

/* 0.0.0.0 and :: are this host too: a resolver's connect() takes them for its loopback. */
static bool is_this_host(const uint8_t address[IP_ADDRESS_BYTES], uint8_t loopback[IP_ADDRESS_BYTES]) {
    static const uint8_t v4_any[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff};
    static const uint8_t v6_any[IP_ADDRESS_BYTES] = {0};
    static const uint8_t v4[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 127, [15] = 1};
    static const uint8_t v6[IP_ADDRESS_BYTES] = {[15] = 1};
    const uint8_t *meant = memcmp(address, v4_any, sizeof v4_any) == 0   ? v4
                           : memcmp(address, v6_any, sizeof v6_any) == 0 ? v6
                                                                         : address;
    memcpy(loopback, meant, IP_ADDRESS_BYTES);
    return ip_address_is_loopback(meant);
}

static void add_loopback(struct resolver_file *file, const uint8_t address[IP_ADDRESS_BYTES]) {
    for (size_t i = 0; i < file->loopback_count; i++)
        if (memcmp(file->loopback[i], address, IP_ADDRESS_BYTES) == 0)
            return;
    if (file->loopback_count < RESOLVERS_MAX)
        memcpy(file->loopback[file->loopback_count++], address, IP_ADDRESS_BYTES);
}

/* Returns whether the word is a nameserver's address. */
static bool read_nameserver(struct span word, struct resolver_file *file) {
    uint8_t address[IP_ADDRESS_BYTES], loopback[IP_ADDRESS_BYTES];
    word = without_zone(word);
    if (!ip_address_parse_v6(word.start, word.length, address) &&
        !ip_address_parse_v4(word.start, word.length, address))
        return false;
    if (is_this_host(address, loopback))
        add_loopback(file, loopback);
    return true;
}

/* The last "search" or "domain" line counts. */
static int read_search(struct span line, bool one, struct strvec *search) {
    struct span word;
    strvec_clear(search);
    while (next_word(&line, "", &word)) {
        if (push_name(search, word) != 0)
            return -1;
        if (one)
            break;
    }
    return 0;
}

int resolver_file_parse(const char *text, size_t size, struct resolver_file *out) {
    *out = (struct resolver_file){0};
    struct span rest = {text, size}, line, word;
    bool any_server = false;
    while (next_line(&rest, &line)) {
        /* A keyword begins its line. */
        if (line.length == 0 || is_blank(line.start[0]) || !next_word(&line, ";#", &word))
            continue;
        bool domain = is_word(word, "domain");
        if ((domain || is_word(word, "search")) && read_search(line, domain, &out->search) != 0)
            return -1;
        if (is_word(word, "nameserver") && next_word(&line, ";#", &word))
            any_server = read_nameserver(word, out) || any_server;
    }
    if (!any_server)
        read_nameserver((struct span){"127.0.0.1", 9}, out);
    return 0;
}

void resolver_file_clear(struct resolver_file *file) {
    strvec_clear(&file->search);
    *file = (struct resolver_file){0};
}

/* The address that a line begins with; the rest of it follows. */
static bool read_hosts_address(struct span *line, uint8_t address[IP_ADDRESS_BYTES]) {
    struct span word;
    if (!next_word(line, "#", &word))
        return false;
    word = without_zone(word);
    return ip_address_parse_v6(word.start, word.length, address) ||
           ip_address_parse_dotted(word.start, word.length, address);
}

size_t hosts_file_shorten(char *text, size_t size) {
    struct span rest = {text, size}, line;
    size_t kept = 0;
    while (next_line(&rest, &line)) {
        uint8_t address[IP_ADDRESS_BYTES];
        struct span whole = line;
        if (!read_hosts_address(&line, address) || network_address_class(address) != NULL)
            continue;
        memmove(text + kept, whole.start, whole.length);
        kept += whole.length;
        if (whole.start + whole.length < text + size)
            text[kept++] = '\n';
    }
    return kept;
}

int hosts_file_names(const char *text, size_t size, const uint8_t address[IP_ADDRESS_BYTES],
                     struct strvec *out) {
    struct span rest = {text, size}, line, word;
    while (next_line(&rest, &line)) {
        uint8_t found[IP_ADDRESS_BYTES];
        if (!read_hosts_address(&line, found))
            continue;
        if (memcmp(found, address, IP_ADDRESS_BYTES) != 0)
            continue;
        while (next_word(&line, "#", &word))
            if (push_name(out, word) != 0)
                return -1;
    }
    return 0;
}
