/* libFuzzer target: any bytes as a settings file; what is accepted is options, and merges without losing a
 * denial.
 */
#include <string.h>

#include "exact.h"
#include "policy/option_layers.h"
#include "policy/options.h"
#include "policy/settings.h"

static void check_error(const struct error *err, const struct text_position *at, const char *text,
                        size_t size) {
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    check(err->kind == ERROR_OPTIONS && err->text[0] != '\0');
    check(strpbrk(err->text, "\n\r\x1b\x7f") == NULL);
    check(at->line >= 1 && at->line <= lines && at->column >= 1 && at->column <= size + 1);
}

static struct options *parsed(const char *document) {
    struct options *options = NULL;
    check(options_parse(document, strlen(document), &options, NULL) == 0);
    return options;
}

static bool has(const struct strvec *list, const char *text) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static void check_contains(const struct strvec *list, const struct strvec *part) {
    for (size_t i = 0; i < part->count; i++)
        check(has(list, part->items[i]));
}

static void check_denials(const char *merged_text, const char *layer_text) {
    struct options *merged = parsed(merged_text), *layer = parsed(layer_text);
    check_contains(&merged->fs.deny_read, &layer->fs.deny_read);
    check_contains(&merged->fs.deny_write, &layer->fs.deny_write);
    check_contains(&merged->network.denied_domains, &layer->network.denied_domains);
    check(!fs_options_are_strict(&layer->fs) || fs_options_are_strict(&merged->fs));
    options_free(merged);
    options_free(layer);
}

static void check_merge(const char *document) {
    static const char other[] =
        "{\"filesystem\":{\"denyRead\":[\"/x\"],\"denyWrite\":[\"/y\"],\"defaultRead\":\"allow\"},"
        "\"network\":{\"deniedDomains\":[\"x.example.com\"]},\"violationLog\":\"/z\"}";
    for (int later = 0; later <= 1; later++) {
        struct strvec layers = {0};
        char *merged = NULL;
        check(strvec_push(&layers, later ? other : document) == 0);
        check(strvec_push(&layers, later ? document : other) == 0);
        check(options_merge(&layers, &merged, NULL) == 0);
        check_denials(merged, document);
        check_denials(merged, other);
        strvec_clear(&layers);
        free(merged);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = (char *)exact_copy(data, size);
    struct settings settings;
    struct text_position at = {0};
    struct error err = {0};
    if (settings_parse(text, size, size % 2 == 0, &settings, &at, &err) == 0) {
        check_merge(settings.document);
        for (size_t i = 0; i < settings.warnings.count; i++)
            check(strstr(settings.warnings.items[i], " has no effect: ") != NULL);
        settings_clear(&settings);
    } else {
        check(settings.document == NULL && settings.warnings.count == 0);
        check_error(&err, &at, text, size);
    }
    free(text);
    return 0;
}
