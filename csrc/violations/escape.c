#include "violations/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

static const struct {
    uint32_t first;
    uint32_t last;
    const char *what;
} escaped[] = {
    {0x0000, 0x001f, "control characters: newline, escape, …"},
    {0x007f, 0x009f, "delete, and the upper control characters with U+0085, next line"},
    {0x00ad, 0x00ad, "soft hyphen"},
    {0x034f, 0x034f, "combining grapheme joiner, not seen"},
    {0x061c, 0x061c, "Arabic letter mark: turns the direction of writing"},
    {0x115f, 0x1160, "Hangul fillers, not seen"},
    {0x17b4, 0x17b5, "Khmer inherent vowels, not seen"},
    {0x180b, 0x180f, "Mongolian variation selectors and vowel separator"},
    {0x200b, 0x200d, "zero width space, non-joiner, joiner"},
    {0x200e, 0x200f, "left-to-right and right-to-left marks"},
    {0x2028, 0x2029, "line and paragraph separators"},
    {0x202a, 0x202e, "embeddings and overrides of the direction of writing"},
    {0x2060, 0x2065, "word joiner, invisible operators"},
    {0x2066, 0x2069, "isolates of the direction of writing"},
    {0x206a, 0x206f, "deprecated format characters"},
    {0x3164, 0x3164, "Hangul filler"},
    {0xfe00, 0xfe0f, "variation selectors: can carry text that nobody sees"},
    {0xfeff, 0xfeff, "byte order mark, zero width"},
    {0xffa0, 0xffa0, "halfwidth Hangul filler"},
    {0xfff0, 0xfffb, "unassigned, interlinear annotation"},
    {0x1d173, 0x1d17a, "musical format characters, not seen"},
    {0xe0000, 0xe0fff, "tags and variation selectors: can carry text that nobody sees"},
};

static bool is_escaped(uint32_t point) {
    for (size_t i = 0; i < sizeof escaped / sizeof escaped[0]; i++)
        if (point >= escaped[i].first && point <= escaped[i].last)
            return true;
    return false;
}

/* "<sandbox_violations" and "</sandbox_violations", as generous as a reader of such tags may be. */
static bool begins_tag(const char *text) {
    return text[0] == '<' &&
           strncasecmp(text + 1 + strspn(text + 1, "/ "), BLOCK_TAG, strlen(BLOCK_TAG)) == 0;
}

void escape_text(FILE *out, const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        uint32_t point = 0;
        size_t size = utf8_decode(text, left, &point);
        if (size == 0)
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)text[0]);
        else if (point == '\n')
            fputs("\\n", out);
        else if (is_escaped(point) || begins_tag(text))
            fprintf(out, point > 0xffff ? "\\u{%05x}" : "\\u%04x", point);
        else
            fwrite(text, 1, size, out);
        size = size == 0 ? 1 : size;
        text += size;
        left -= size;
    }
}
