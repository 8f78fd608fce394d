#include "plan/sbpl_regex.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/glob.h"
#include "policy/name_fold.h"

/* Another name of what has one below the root (sbpl_text.h). */
#define DATA_VOLUME "(/System/Volumes/Data)?"

/* Matches a thing and what lies below it. */
#define AND_BELOW "(/.*)?$"

static bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static char lower(char letter) {
    return (char)(letter | 0x20);
}

static size_t encode(uint32_t character, char bytes[4]) {
    if (character < 0x80 || (character & GLOB_STRAY_BYTE) != 0) {
        bytes[0] = (char)(character & 0xff);
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; character >>= 6)
        bytes[i] = (char)(0x80 | (character & 0x3f));
    bytes[0] = (char)((0xf00u >> size & 0xff) | character);
    return size;
}

static void add_choice(struct sbpl_text *out, size_t *choices, const char *choice, size_t length) {
    sbpl_text_add(out, (*choices)++ == 0 ? "(" : "|");
    sbpl_text_add_bytes(out, choice, length);
}

/* The characters that fold to these letters. */
static void add_folding(struct sbpl_text *out, size_t *choices, const char *letters, size_t length) {
    uint32_t from;
    const char *to;
    char bytes[4];
    for (size_t i = 0; (to = name_fold_row(i, &from)) != NULL; i++)
        if (strlen(to) == length && strncasecmp(to, letters, length) == 0)
            add_choice(out, choices, bytes, encode(from, bytes));
}

/* How many of the letters one character can stand for. */
static size_t folding_length(const char *letters, size_t length) {
    uint32_t from;
    const char *to;
    size_t longest = 0;
    for (size_t i = 0; (to = name_fold_row(i, &from)) != NULL; i++) {
        const size_t size = strlen(to);
        if (size > longest && size <= length && strncasecmp(to, letters, size) == 0)
            longest = size;
    }
    return longest;
}

static void add_letter(struct sbpl_text *out, char letter) {
    const char both[] = {'[', lower(letter), (char)(lower(letter) - 'a' + 'A'), ']'};
    if (folding_length(&letter, 1) == 0) {
        sbpl_text_add_bytes(out, both, sizeof both);
        return;
    }
    size_t choices = 0;
    add_choice(out, &choices, both, sizeof both);
    add_folding(out, &choices, &letter, 1);
    sbpl_text_add(out, ")");
}

static void add_letters(struct sbpl_text *out, const char *letters, size_t length) {
    size_t choices = 0;
    if (length > 1)
        add_choice(out, &choices, "", 0);
    for (size_t i = 0; i < length; i++)
        add_letter(out, letters[i]);
    if (length > 1) {
        add_folding(out, &choices, letters, length);
        sbpl_text_add(out, ")");
    }
}

void sbpl_regex_add_text(struct sbpl_text *out, const char *text, size_t length, bool fold) {
    for (size_t i = 0; i < length;) {
        if (fold && is_letter(text[i])) {
            const size_t folded = folding_length(text + i, length - i);
            add_letters(out, text + i, folded > 0 ? folded : 1);
            i += folded > 0 ? folded : 1;
            continue;
        }
        if (strchr("\\.[]()*+?{}^$|", text[i]) != NULL)
            sbpl_text_add(out, "\\");
        sbpl_text_add_bytes(out, &text[i++], 1);
    }
}

/* A name below /tmp, /var or /etc is made to match with /private before it and without. */
static const char *add_start(struct sbpl_text *out, const char *path, bool closed) {
    const char *rest = sbpl_below_private(path);
    sbpl_text_add(out, closed ? "^" DATA_VOLUME : "^");
    if (rest == NULL)
        return path;
    sbpl_text_add(out, "(/private)?");
    return rest;
}

void sbpl_regex_add_lead(struct sbpl_text *out, const char *path, bool closed) {
    const char *rest = add_start(out, path, closed);
    sbpl_regex_add_text(out, rest, strlen(rest), false);
}

static int conclude(struct sbpl_text *out, const char *path, struct error *err) {
    if (out->failed)
        return error_memory(err);
    if (out->size <= SBPL_STRING_MAX)
        return 0;
    return error_set(err, ERROR_OPTIONS, 0, "%.200s…: too long for a rule of a macOS sandbox profile", path);
}

static void add_path(struct sbpl_text *out, const char *path, size_t folded_from, bool fold) {
    const char *rest = add_start(out, path, true);
    const size_t skipped = (size_t)(rest - path);
    const size_t plain = folded_from > skipped ? folded_from - skipped : 0;
    sbpl_regex_add_text(out, rest, plain, false);
    /* What matches below "/" begins with it. */
    if (rest[1] != '\0' || rest[0] != '/')
        sbpl_regex_add_text(out, rest + plain, strlen(rest + plain), fold);
    sbpl_text_add(out, AND_BELOW);
}

int sbpl_regex_of_path(const char *path, bool fold, struct sbpl_text *out, struct error *err) {
    add_path(out, path, 0, fold);
    if (fold && !out->failed && out->size > SBPL_STRING_MAX) {
        /* The folders of so long a path are there already, as a rule: their own spelling is the one that
         * counts. */
        sbpl_text_clear(out);
        add_path(out, path, (size_t)(strrchr(path, '/') - path), true);
    }
    return conclude(out, path, err);
}

/* --- globs --- */

struct translation {
    const struct glob *glob;
    struct sbpl_text *out;
    bool fold;
    bool closed;
    bool wide; /* "**" stands where a component may begin or end, or not: every slash may be left out */
};

/* Braces that are open: an alternative that is empty makes the whole optional. */
struct braces {
    struct {
        size_t written;
        bool optional;
    } levels[GLOB_DEPTH_MAX];
    size_t depth;
};

static enum glob_part part_at(const struct translation *to, size_t index) {
    uint32_t ignored;
    return glob_part_at(to->glob, index, &ignored);
}

static bool is_slash(const struct translation *to, size_t index) {
    uint32_t character;
    return glob_part_at(to->glob, index, &character) == GLOB_CHARACTER && character == '/';
}

static bool is_brace(enum glob_part part) {
    return part == GLOB_OPEN || part == GLOB_COMMA || part == GLOB_CLOSE;
}

/* A "**" that is a whole component. */
static bool is_component(const struct translation *to, size_t index) {
    return part_at(to, index) == GLOB_STARS && index > 0 && is_slash(to, index - 1) &&
           (is_slash(to, index + 1) || part_at(to, index + 1) == GLOB_END);
}

static bool is_wide(const struct translation *to) {
    for (size_t i = 1; part_at(to, i) != GLOB_END; i++) {
        if (part_at(to, i) != GLOB_STARS)
            continue;
        bool begins = is_slash(to, i - 1) || is_brace(part_at(to, i - 1));
        bool beside = is_brace(part_at(to, i - 1)) || is_brace(part_at(to, i + 1));
        if (begins && beside)
            return true;
    }
    return false;
}

/* ? and sets take a character, of which the bytes behind the first are 0x80 to 0xbf. What is no UTF-8 is no
 * name on a disk of macOS. */
static void add_any(const struct translation *to) {
    sbpl_text_add(to->out, to->closed ? "[^/][\x80-\xbf]*" : "[^/\x80-\xbf][\x80-\xbf]*");
}

static bool set_has(const struct translation *to, size_t index, char byte) {
    const char other = is_letter(byte) && to->fold ? (char)(byte ^ 0x20) : byte;
    return byte != '/' && (glob_set_has(to->glob, index, (unsigned char)byte) ||
                           glob_set_has(to->glob, index, (unsigned char)other));
}

/* A set without ASCII in it that is to match less matches nothing: "$" before a character. */
static void add_set(const struct translation *to, size_t index) {
    struct sbpl_text class = {0};
    size_t choices = 0;
    sbpl_text_add(&class, "[");
    for (char byte = 1; byte < 0x7f; byte++) {
        if (!set_has(to, index, byte))
            continue;
        if (strchr("\\.[]()*+?{}^$|-", byte) == NULL) {
            sbpl_text_add_bytes(&class, &byte, 1);
            continue;
        }
        const char escaped[] = {'\\', byte};
        add_choice(to->out, &choices, byte == '-' ? "-" : escaped, byte == '-' ? 1 : 2);
    }
    sbpl_text_add(&class, "]");
    if (class.size > 2)
        add_choice(to->out, &choices, class.data, class.size);
    for (char letter = 'a'; to->fold && letter <= 'z'; letter++)
        if (set_has(to, index, letter))
            add_folding(to->out, &choices, &letter, 1);
    static const char beyond[] = "[\x80-\xff][\x80-\xbf]*";
    if (to->closed && glob_set_reaches(to->glob, index))
        add_choice(to->out, &choices, beyond, strlen(beyond));
    sbpl_text_add(to->out, choices > 0 ? ")" : "$.");
    to->out->failed = to->out->failed || class.failed;
    sbpl_text_clear(&class);
}

static void begin_alternative(const struct translation *to, struct braces *braces, enum glob_part next) {
    if (next == GLOB_COMMA || next == GLOB_CLOSE)
        braces->levels[braces->depth - 1].optional = true;
    else
        sbpl_text_add(to->out, braces->levels[braces->depth - 1].written++ == 0 ? "(" : "|");
}

static void add_brace(const struct translation *to, struct braces *braces, size_t index) {
    const enum glob_part part = part_at(to, index);
    if (part == GLOB_OPEN) {
        braces->levels[braces->depth].written = 0;
        braces->levels[braces->depth++].optional = false;
    }
    if (part != GLOB_CLOSE) {
        begin_alternative(to, braces, part_at(to, index + 1));
        return;
    }
    braces->depth--;
    if (braces->levels[braces->depth].written > 0)
        sbpl_text_add(to->out, braces->levels[braces->depth].optional ? ")?" : ")");
}

/* A slash, and the "**" components behind it. Returns what comes next. */
static size_t add_slash(const struct translation *to, size_t index) {
    if (to->wide || !is_component(to, index + 1)) {
        sbpl_text_add(to->out, to->wide && index > 0 ? "/?" : "/");
        return index + 1;
    }
    do
        index += 2;
    while (is_slash(to, index) && is_component(to, index + 1));
    if (part_at(to, index) == GLOB_END) {
        sbpl_text_add(to->out, "(/.*)?");
        return index;
    }
    sbpl_text_add(to->out, "/(.*/)?");
    return index + 1;
}

static size_t add_part(const struct translation *to, struct braces *braces, size_t index) {
    uint32_t character;
    char bytes[4];
    switch (glob_part_at(to->glob, index, &character)) {
    case GLOB_CHARACTER:
        if (character == '/')
            return add_slash(to, index);
        sbpl_regex_add_text(to->out, bytes, encode(character, bytes), to->fold);
        break;
    case GLOB_ANY:
        add_any(to);
        break;
    case GLOB_SET:
        add_set(to, index);
        break;
    case GLOB_STAR:
        sbpl_text_add(to->out, "[^/]*");
        break;
    case GLOB_STARS:
        sbpl_text_add(to->out, to->wide ? ".*" : "[^/]*");
        break;
    case GLOB_OPEN:
    case GLOB_COMMA:
    case GLOB_CLOSE:
        add_brace(to, braces, index);
        break;
    case GLOB_END:
        break;
    }
    return index + 1;
}

static int translate(struct translation *to, const char *pattern, struct error *err) {
    struct braces braces = {.depth = 0};
    to->wide = is_wide(to);
    if (to->wide && !to->closed)
        return error_set(err, ERROR_OPTIONS, 0,
                         "%s: \"**\" beside a brace cannot be said in a macOS sandbox profile", pattern);
    for (size_t i = 0; part_at(to, i) != GLOB_END;)
        i = add_part(to, &braces, i);
    sbpl_text_add(to->out, to->closed ? AND_BELOW : "$");
    return conclude(to->out, pattern, err);
}

int sbpl_regex_of_glob(const char *pattern, bool fold, bool closed, struct sbpl_text *out,
                       struct error *err) {
    errno = 0;
    const char *rest = add_start(out, pattern, closed);
    struct glob *glob = glob_compile(rest);
    if (glob == NULL && errno == ENOMEM)
        return error_memory(err);
    if (glob == NULL) {
        sbpl_regex_add_text(out, rest, strlen(rest), fold);
        sbpl_text_add(out, closed ? AND_BELOW : "$");
        return conclude(out, pattern, err);
    }
    struct translation to = {.glob = glob, .out = out, .fold = fold, .closed = closed};
    int result = translate(&to, pattern, err);
    glob_free(glob);
    return result;
}
