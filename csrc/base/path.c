#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *path_join(const char *base, const char *path) {
    if (path[0] == '/')
        return strdup(path);
    size_t size = strlen(base) + 1 + strlen(path) + 1;
    char *joined = malloc(size);
    if (joined != NULL)
        snprintf(joined, size, "%s/%s", base, path);
    return joined;
}

bool path_is_within(const char *path, const char *ancestor) {
    size_t length = strlen(ancestor);
    if (length == 1)
        return true;
    return strncmp(path, ancestor, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static int rank(char byte) {
    return byte == '\0' ? 0 : byte == '/' ? 1 : (unsigned char)byte + 1;
}

int path_compare(const char *left, const char *right) {
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return rank(*left) - rank(*right);
}

bool path_is_normal(const char *path) {
    if (path[0] != '/')
        return false;
    if (path[1] == '\0')
        return true;
    for (const char *at = path; *at != '\0';) {
        const char *name = at + 1;
        const char *end = strchrnul(name, '/');
        size_t length = (size_t)(end - name);
        if (length == 0 || (length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.'))
            return false;
        at = end;
    }
    return true;
}
