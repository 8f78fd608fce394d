/* libFuzzer target: after a byte that chooses, any bytes as a proxy's URL, NO_PROXY, resolv.conf or hosts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/resolver_files.h"
#include "policy/upstream_proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds) {
    if (!holds)
        abort();
}

static void fuzz_url(const char *text) {
    struct upstream_proxy proxy = {0};
    struct error err = {0};
    if (upstream_proxy_parse(text, &proxy, &err) != 0) {
        check(err.kind == ERROR_OPTIONS && err.text[0] != '\0');
        check(proxy.authorization == NULL);
        return;
    }
    check(proxy.port != 0 && proxy.host[0] != '\0');
    if (proxy.authorization != NULL) {
        check(strncmp(proxy.authorization, "Basic ", 6) == 0 && strlen(proxy.authorization) % 4 == 2);
        check(strpbrk(proxy.authorization + 6, " \r\n") == NULL);
    }
    upstream_proxy_clear(&proxy);
}

static void fuzz_except(char *text) {
    static const char *const hosts[] = {"a.example.com", "192.0.2.7", "2001:db8::7"};
    struct upstream_proxy proxy = {.except = text};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct network_target target;
        check(network_target_parse(hosts[i], strlen(hosts[i]), 443, &target) == 0);
        upstream_proxy_excepts(&proxy, &target);
    }
}

static void check_names(const struct strvec *names) {
    for (size_t i = 0; i < names->count; i++) {
        char again[DOMAIN_NAME_MAX + 1];
        check(domain_name_parse(names->items[i], strlen(names->items[i]), again, NULL) == 0);
        check(strcmp(again, names->items[i]) == 0);
    }
}

static void fuzz_resolver(const char *text, size_t size) {
    struct resolver_file file;
    check(resolver_file_parse(text, size, &file) == 0);
    check(file.loopback_count <= RESOLVERS_MAX);
    for (size_t i = 0; i < file.loopback_count; i++)
        check(ip_address_is_loopback(file.loopback[i]));
    check_names(&file.search);
    resolver_file_clear(&file);
}

/* A shorter file says the same of an address that is nothing special, and stays as it is then. */
static void fuzz_shortened(const char *text, size_t size, const uint8_t address[IP_ADDRESS_BYTES],
                           const struct strvec *names) {
    char *copy = malloc(size + (size == 0));
    struct strvec again = {0};
    check(copy != NULL);
    memcpy(copy, text, size);
    size_t left = hosts_file_shorten(copy, size);
    check(left <= size && hosts_file_shorten(copy, left) == left);
    check(hosts_file_names(copy, left, address, &again) == 0 && again.count == names->count);
    for (size_t i = 0; i < again.count; i++)
        check(strcmp(again.items[i], names->items[i]) == 0);
    strvec_clear(&again);
    free(copy);
}

static void fuzz_hosts(const char *text, size_t size) {
    static const uint8_t address[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 192, 0, 2, 7};
    struct strvec names = {0};
    check(hosts_file_names(text, size, address, &names) == 0);
    check_names(&names);
    fuzz_shortened(text, size, address, &names);
    strvec_clear(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    char kind = (char)*data++;
    size--;
    /* The files are read from a heap block of exactly their size, so that an over-read shows. */
    bool file = kind == 'r' || kind == 'h';
    char *text = malloc(file ? size + (size == 0) : size + 1);
    check(text != NULL);
    memcpy(text, data, size);
    if (!file)
        text[size] = '\0';
    switch (kind) {
    case 'u':
        fuzz_url(text);
        break;
    case 'n':
        fuzz_except(text);
        break;
    case 'r':
        fuzz_resolver(text, size);
        break;
    case 'h':
        fuzz_hosts(text, size);
        break;
    default:
        break;
    }
    free(text);
    return 0;
}
