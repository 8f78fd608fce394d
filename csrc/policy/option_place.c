#include "policy/option_place.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/json_util.h"

void option_place_of_key(const char *group, const char *key, char place[OPTION_PLACE_SIZE]) {
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
    size_t length = strlen(key);
    if (length > 0 && length < JSON_FOUND_SIZE && strspn(key, word) == length) {
        snprintf(place, OPTION_PLACE_SIZE, "%s%s%s", group, *group == '\0' ? "" : ".", key);
        return;
    }
    char quoted[JSON_FOUND_SIZE];
    json_escape_text(key, length, true, quoted, sizeof quoted);
    snprintf(place, OPTION_PLACE_SIZE, "%s[%s]", *group == '\0' ? "options" : group, quoted);
}
