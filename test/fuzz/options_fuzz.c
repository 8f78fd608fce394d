/* libFuzzer target: any bytes as an options document, and as a domain pattern that must read back as itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/domain_pattern.h"
#include "policy/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds) {
    if (!holds)
        abort();
}

/* The bytes in a heap block of exactly their size, so that an over-read shows. */
static char *exact_copy(const uint8_t *data, size_t size, size_t extra) {
    char *copy = malloc(size + extra == 0 ? 1 : size + extra);
    check(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

static void fuzz_document(const uint8_t *data, size_t size) {
    char *json = exact_copy(data, size, 0);
    struct options *options = NULL;
    struct error err = {0};
    if (options_parse(json, size, &options, &err) == 0) {
        check(options != NULL && err.kind == ERROR_NONE);
        options_free(options);
    } else {
        check(options == NULL && err.kind == ERROR_OPTIONS && err.text[0] != '\0');
        check(strpbrk(err.text, "\n\r\x1b\x7f") == NULL);
    }
    free(json);
}

static void fuzz_pattern(const uint8_t *data, size_t size) {
    char *text = exact_copy(data, size, 1);
    text[size] = '\0';
    struct domain_pattern pattern, again;
    struct error err = {0};
    if (domain_pattern_parse(text, &pattern, &err) != 0) {
        check(err.kind == ERROR_OPTIONS && err.text[0] != '\0');
    } else if (pattern.kind != DOMAIN_PATTERN_ANY) {
        check(domain_pattern_parse(pattern.name, &again, NULL) == 0);
        check(strcmp(again.name, pattern.name) == 0);
        check(memcmp(again.address, pattern.address, sizeof again.address) == 0);
        check((pattern.kind == DOMAIN_PATTERN_SUBDOMAINS) == (again.kind != pattern.kind));
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_document(data, size);
    fuzz_pattern(data, size);
    return 0;
}
