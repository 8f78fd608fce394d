#include "base/strvec.h"

#include <stdlib.h>
#include <string.h>

int strvec_push_owned(struct strvec *vec, char *string) {
    if (string == NULL)
        return -1;
    if (vec->count + 2 > vec->capacity) {
        size_t capacity = vec->capacity == 0 ? 8 : vec->capacity * 2;
        char **items = realloc(vec->items, capacity * sizeof *items);
        if (items == NULL) {
            free(string);
            return -1;
        }
        vec->items = items;
        vec->capacity = capacity;
    }
    vec->items[vec->count++] = string;
    vec->items[vec->count] = NULL;
    return 0;
}

int strvec_push(struct strvec *vec, const char *string) {
    return strvec_push_owned(vec, strdup(string));
}

int strvec_push_all(struct strvec *vec, const struct strvec *other) {
    for (size_t i = 0; i < other->count; i++)
        if (strvec_push(vec, other->items[i]) != 0)
            return -1;
    return 0;
}

void strvec_clear(struct strvec *vec) {
    for (size_t i = 0; i < vec->count; i++)
        free(vec->items[i]);
    free(vec->items);
    *vec = (struct strvec){0};
}
