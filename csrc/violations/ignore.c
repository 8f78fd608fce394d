#include "violations/ignore.h"

#include <stdlib.h>
#include <string.h>

static bool concerns(const struct ignore_rule *rule, const char *command) {
    return strcmp(rule->command, "*") == 0 || strstr(command, rule->command) != NULL;
}

int ignore_list_build(const struct options *options, const char *command, struct ignore_list *out) {
    size_t count = 0;
    *out = (struct ignore_list){0};
    for (size_t i = 0; i < options->ignore_count; i++)
        if (concerns(&options->ignore[i], command))
            count += options->ignore[i].lines.count;
    if (count == 0)
        return 0;
    out->lines = calloc(count, sizeof *out->lines);
    if (out->lines == NULL)
        return -1;
    for (size_t i = 0; i < options->ignore_count; i++)
        for (size_t l = 0; concerns(&options->ignore[i], command) && l < options->ignore[i].lines.count; l++)
            out->lines[out->count++] = options->ignore[i].lines.items[l];
    return 0;
}

bool ignore_list_has(const struct ignore_list *list, const char *line) {
    for (size_t i = 0; i < list->count; i++)
        if (strstr(line, list->lines[i]) != NULL)
            return true;
    return false;
}

void ignore_list_clear(struct ignore_list *list) {
    free(list->lines);
    *list = (struct ignore_list){0};
}
