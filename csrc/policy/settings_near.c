#include "policy/settings_near.h"

#include <stddef.h>
#include <string.h>

#include "policy/option_table.h"
#include "policy/settings_srt.h"

#define KEY_MAX 40 /* bytes; what is longer is near to nothing */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Letters to change, to put in or to take out; without case. Both have at most KEY_MAX bytes. */
static size_t distance(const char *from, const char *to) {
    size_t row[KEY_MAX + 1];
    size_t width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; from[i] != '\0'; i++) {
        size_t before = row[0]++;
        for (size_t j = 0; j < width; j++) {
            size_t changed = before + (lower(from[i]) == lower(to[j]) ? 0 : 1);
            before = row[j + 1];
            row[j + 1] = least(changed, least(before, row[j]) + 1);
        }
    }
    return row[width];
}

struct search {
    const char *group, *key;
    size_t best;
    const char *best_group, *best_key;
};

static void consider(struct search *search, const char *group, const char *key) {
    if (strlen(key) > KEY_MAX)
        return;
    /* Of two that are as near, the one in the place where it was looked for. */
    size_t found = 2 * distance(search->key, key) + (strcmp(search->group, group) == 0 ? 0 : 1);
    if (found >= search->best)
        return;
    search->best = found;
    search->best_group = group;
    search->best_key = key;
}

bool settings_near(const char *group, const char *key, char near[OPTION_PLACE_SIZE]) {
    if (strlen(key) > KEY_MAX)
        return false;
    /* A third of its letters may be wrong. */
    struct search search = {.group = group, .key = key, .best = 2 * (strlen(key) / 3) + 2};
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++)
        if (row->kind != OPTION_FUNCTION)
            consider(&search, row->group, row->key);
    const struct srt_key *foreign;
    for (size_t i = 0; (foreign = srt_key_row(i)) != NULL; i++)
        if (foreign->action == SRT_IGNORED || foreign->action == SRT_NOTE)
            consider(&search, foreign->group, foreign->key);
    if (search.best_key == NULL)
        return false;
    option_place_of_key(search.best_group, search.best_key, near);
    return true;
}
