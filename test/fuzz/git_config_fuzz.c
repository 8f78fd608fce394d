/* Fuzzes the reader of git's configuration: entries lie in the file one behind the other, and what is left
 * when those that execute are taken out is the same list without them. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/git_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const char *text;
    size_t length, end, count, executing;
    uint64_t harmless; /* a hash of the entries that do not execute */
};

static void check(bool holds) {
    if (!holds)
        abort();
}

static void mix(struct seen *seen, const char *text) {
    do
        seen->harmless = (seen->harmless ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++ != '\0');
}

static bool take(const struct git_config_entry *entry, void *data) {
    struct seen *seen = data;
    check(entry->start >= seen->end && entry->start < entry->end && entry->end <= seen->length);
    check(entry->end == seen->length || seen->text[entry->end - 1] == '\n');
    seen->end = entry->end;
    seen->count++;
    if (git_config_executes(entry)) {
        seen->executing++;
    } else {
        mix(seen, entry->key);
        mix(seen, entry->value == NULL ? "\n" : entry->value);
    }
    return true;
}

static int read_all(const char *text, size_t length, struct seen *seen) {
    *seen = (struct seen){.text = text, .length = length};
    return git_config_read(text, length, take, seen);
}

static void check_disarmed(const char *text, size_t length, const struct seen *before, int result) {
    char *out = NULL, first[16];
    size_t left = 0, count = 0;
    struct seen after;
    check(git_config_disarm(text, length, &out, &left, &count, first, sizeof(first)) == 0);
    check(count == (result == 0 ? before->executing : 1) && (out != NULL) == (count > 0));
    if (out == NULL)
        return;
    check(read_all(out, left, &after) == 0 && after.executing == 0);
    check(result == 0 ? after.count == before->count - before->executing && after.harmless == before->harmless
                      : after.count == 0);
    free(out);
}

/* In a heap block of exactly its size, so that an over-read shows. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size == 0 ? 1 : size);
    struct seen seen;
    check(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    int result = read_all(text, size, &seen);
    check_disarmed(text, size, &seen, result);
    free(git_config_value(text, size, "core.editor"));
    free(text);
    return 0;
}
