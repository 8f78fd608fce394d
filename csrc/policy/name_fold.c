#include "policy/name_fold.h"

#include <string.h>

#include "base/utf8.h"

/* Unicode's CaseFolding.txt, states C and F, and canonical decompositions: what gives ASCII alone. */
static const struct {
    uint32_t from;
    const char *to;
} folds[] = {
    {0x00df, "ss"}, {0x017f, "s"},   {0x1e9e, "ss"},  {0x212a, "k"},  {0xfb00, "ff"}, {0xfb01, "fi"},
    {0xfb02, "fl"}, {0xfb03, "ffi"}, {0xfb04, "ffl"}, {0xfb05, "st"}, {0xfb06, "st"},
};

/* Default_Ignorable_Code_Point of DerivedCoreProperties.txt. */
static const struct {
    uint32_t first, last;
} ignored[] = {
    {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c}, {0x115f, 0x1160}, {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

const char *name_fold_row(size_t index, uint32_t *from) {
    if (index >= sizeof folds / sizeof folds[0])
        return NULL;
    *from = folds[index].from;
    return folds[index].to;
}

/* What the character becomes; NULL: itself. */
static const char *fold_of(uint32_t value) {
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++)
        if (folds[i].from == value)
            return folds[i].to;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (ignored[i].first <= value && value <= ignored[i].last)
            return "";
    return NULL;
}

/* None becomes longer by this. */
static size_t put(char *into, size_t size, size_t at, const char *bytes, size_t length) {
    if (at + length >= size)
        length = at + 1 < size ? size - 1 - at : 0;
    memcpy(into + at, bytes, length);
    return at + length;
}

static size_t without_tail(const char *name, size_t length) {
    size_t end = length;
    while (end > 0 && (name[end - 1] == '.' || name[end - 1] == ' '))
        end--;
    return end == 0 ? length : end;
}

size_t name_fold(const char *name, size_t length, char *into, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < length;) {
        uint32_t value = 0;
        if ((unsigned char)name[i] < 0x80) {
            if (at + 1 < size)
                into[at++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
            i++;
            continue;
        }
        size_t step = utf8_decode(name + i, length - i, &value);
        const char *fold = step > 1 ? fold_of(value) : NULL;
        step = step == 0 ? 1 : step;
        at = fold != NULL ? put(into, size, at, fold, strlen(fold)) : put(into, size, at, name + i, step);
        i += step;
    }
    at = without_tail(into, at);
    into[at] = '\0';
    return at;
}

bool path_may_fold(const char *path) {
    for (; *path != '\0'; path++) {
        bool tail = (*path == '.' || *path == ' ') && (path[1] == '/' || path[1] == '\0');
        if ((*path >= 'A' && *path <= 'Z') || (unsigned char)*path >= 0x80 || *path == '~' || tail)
            return true;
    }
    return false;
}

bool path_fold(const char *path, char *into, size_t size) {
    size_t at = 0;
    for (const char *text = path; *text != '\0';) {
        size_t length = strcspn(text, "/");
        if (at + length + 2 > size)
            return false;
        at += name_fold(text, length, into + at, size - at);
        text += length;
        if (*text == '/') {
            into[at++] = '/';
            text++;
        }
    }
    into[at] = '\0';
    return strcmp(path, into) != 0;
}

bool name_is_short_form(const char *name, size_t length) {
    const char *tilde = memchr(name, '~', length);
    return tilde != NULL && tilde > name && tilde + 1 < name + length && tilde[1] >= '0' && tilde[1] <= '9';
}
