/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef OS_SANDBOX_BASE_UTF8_H
#define OS_SANDBOX_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* One character of at most length (at least 1) bytes: how many it takes, or 0 where they are not UTF-8. */
static inline size_t utf8_decode(const char *text, size_t length, uint32_t *point) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    uint32_t value = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (next & 0x3f);
    }
    if (value < smallest[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *point = value;
    return size;
}

#endif
