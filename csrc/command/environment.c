#include "command/environment.h"

#include <stdbool.h>
#include <string.h>

static bool is_named(const struct strvec *own, const char *variable) {
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < own->count; i++) {
        const char *name = own->items[i];
        if (strncmp(name, variable, length) == 0 && (name[length] == '=' || name[length] == '\0'))
            return true;
    }
    return false;
}

int env_merge(char *const *ambient, const struct strvec *own, struct strvec *out) {
    int result = 0;
    for (; result == 0 && ambient != NULL && *ambient != NULL; ambient++)
        if (!is_named(own, *ambient))
            result = strvec_push(out, *ambient);
    for (size_t i = 0; result == 0 && i < own->count; i++)
        if (strchr(own->items[i], '=') != NULL)
            result = strvec_push(out, own->items[i]);
    return result;
}
