#include "base/glob.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GLOB_MAX 4096

bool glob_has_magic(const char *pattern) {
    return strpbrk(pattern, "*?[{") != NULL;
}

char *glob_escape(const char *path) {
    char *escaped = malloc(2 * strlen(path) + 1);
    char *to = escaped;
    if (escaped == NULL)
        return NULL;
    for (; *path != '\0'; path++) {
        if (strchr("*?[{\\", *path) != NULL)
            *to++ = '\\';
        *to++ = *path;
    }
    *to = '\0';
    return escaped;
}

/* The character at *at, which moves behind it. Not to be called at the end. */
static uint32_t next_character(const char **at) {
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *bytes = (const unsigned char *)*at;
    for (size_t length = 1; length <= sizeof forms / sizeof forms[0]; length++) {
        if ((bytes[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        uint32_t value = bytes[0] & (unsigned char)~forms[length - 1].mask;
        size_t i = 1;
        for (; i < length && (bytes[i] & 0xc0) == 0x80; i++)
            value = value << 6 | (bytes[i] & 0x3fu);
        if (i < length || value < forms[length - 1].least)
            break;
        *at += length;
        return value;
    }
    *at += 1;
    return GLOB_STRAY_BYTE | bytes[0];
}

static const struct {
    const char *name;
    int (*has)(int);
} classes[] = {{"[:alnum:]", isalnum}, {"[:alpha:]", isalpha}, {"[:blank:]", isblank},
               {"[:cntrl:]", iscntrl}, {"[:digit:]", isdigit}, {"[:graph:]", isgraph},
               {"[:lower:]", islower}, {"[:print:]", isprint}, {"[:punct:]", ispunct},
               {"[:space:]", isspace}, {"[:upper:]", isupper}, {"[:xdigit:]", isxdigit}};

/* A class by name at *at, which moves behind it. False where there is none. */
static bool read_class(const char **at, uint32_t wanted, bool *found) {
    if (strncmp(*at, "[:", 2) != 0)
        return false;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        size_t length = strlen(classes[i].name);
        if (strncmp(*at, classes[i].name, length) != 0)
            continue;
        *at += length;
        *found = *found || (wanted < 0x80 && classes[i].has((int)wanted) != 0);
        return true;
    }
    return false;
}

/* One end of a range at *at. False where there is none: the pattern is malformed. */
static bool read_end(const char **at, uint32_t *out) {
    if (**at == '\\')
        ++*at;
    /* Collating symbols and equivalences, as "[[.x.]]", are not of this language. */
    if (**at == '\0' || **at == '/' || (**at == '[' && strchr(":.=", (*at)[1]) != NULL && (*at)[1] != '\0'))
        return false;
    *out = next_character(at);
    return true;
}

/*
 * A set behind its "[": *at moves behind the "]", *found says whether the wanted character is in it. False
 * where it is malformed, or open at the end of its component.
 */
static bool read_set(const char **at, uint32_t wanted, bool *found) {
    bool negated = **at == '!' || **at == '^';
    *at += negated;
    *found = false;
    for (bool first = true; **at != ']' || first; first = false) {
        uint32_t low;
        if (read_class(at, wanted, found))
            continue;
        if (!read_end(at, &low))
            return false;
        uint32_t high = low;
        if (**at == '-' && (*at)[1] != ']') {
            ++*at;
            if (!read_end(at, &high))
                return false;
        }
        *found = *found || (low <= wanted && wanted <= high);
    }
    ++*at;
    *found = *found != negated;
    return true;
}

enum kind { LITERAL, ANY, SET, STAR, GLOBSTAR, OPEN, COMMA, CLOSE, END };

struct token {
    uint32_t value; /* LITERAL: the character; SET: where it begins in the pattern; COMMA: the index of its
                       CLOSE */
    uint16_t next;  /* OPEN, COMMA: the index of the next COMMA of the same braces; 0: none */
    uint16_t kind;
};

struct glob {
    const char *pattern;
    struct token tokens[GLOB_MAX];
    size_t count; /* the last one is END */
};

/* Braces that are open while a pattern is compiled. */
struct braces {
    struct {
        uint16_t open;
        uint16_t last; /* the OPEN, or its last COMMA so far */
    } levels[GLOB_DEPTH_MAX];
    size_t depth;
};

static void add_comma(struct glob *out, struct braces *braces, struct token *token) {
    if (braces->depth == 0)
        return;
    uint16_t *last = &braces->levels[braces->depth - 1].last;
    out->tokens[*last].next = (uint16_t)out->count;
    *last = (uint16_t)out->count;
    token->kind = COMMA;
}

static void close_braces(struct glob *out, struct braces *braces, struct token *token) {
    if (braces->depth == 0)
        return;
    struct token *open = &out->tokens[braces->levels[--braces->depth].open];
    if (open->next == 0) {
        *open = (struct token){.kind = LITERAL, .value = '{'};
        return;
    }
    token->kind = CLOSE;
    for (size_t comma = open->next; comma != 0; comma = out->tokens[comma].next)
        out->tokens[comma].value = (uint32_t)out->count;
}

/* A single * stays within its component; exactly two are more where they are a whole one. */
static enum kind read_stars(const char **at) {
    size_t count = 1 + strspn(*at, "*");
    *at += count - 1;
    return count == 2 ? GLOBSTAR : STAR;
}

/* The token at *at, which moves behind it. False: malformed. */
static bool add_token(struct glob *out, struct braces *braces, const char **at) {
    bool ignored;
    struct token token = {.kind = LITERAL, .value = next_character(at)};
    switch (token.value) {
    case '\\':
        if (**at == '\0')
            return false;
        token.value = next_character(at);
        break;
    case '?':
        token.kind = ANY;
        break;
    case '*':
        token.kind = (uint16_t)read_stars(at);
        break;
    case '[':
        token = (struct token){.kind = SET, .value = (uint32_t)(*at - out->pattern)};
        if (!read_set(at, 0, &ignored))
            return false;
        break;
    case '{':
        if (braces->depth == GLOB_DEPTH_MAX)
            return false;
        token.kind = OPEN;
        braces->levels[braces->depth].open = braces->levels[braces->depth].last = (uint16_t)out->count;
        braces->depth++;
        break;
    case ',':
        add_comma(out, braces, &token);
        break;
    case '}':
        close_braces(out, braces, &token);
        break;
    default:
        break;
    }
    out->tokens[out->count++] = token;
    return true;
}

static bool compile(const char *pattern, struct glob *out) {
    struct braces braces = {.depth = 0};
    out->pattern = pattern;
    out->count = 0;
    if (strlen(pattern) >= GLOB_MAX)
        return false;
    for (const char *at = pattern; *at != '\0';)
        if (!add_token(out, &braces, &at))
            return false;
    out->tokens[out->count++] = (struct token){.kind = END};
    return braces.depth == 0;
}

/*
 * The pattern is run as a nondeterministic automaton: a set of tokens that may be next, each in one or more
 * of these ways.
 */
enum {
    HERE = 1,    /* the token is to match what comes now */
    WITHIN = 2,  /* GLOBSTAR: components are being passed over */
    SKIPPED = 4, /* a "**" has matched no component: the slash behind it may be left out */
};

/* Everything that is reached without a character: always forward, and nothing is before `from`. starts, ends:
 * of a component, at this place. */
static void close_states(const struct glob *glob, unsigned char *states, size_t from, bool starts,
                         bool ends) {
    for (size_t i = from; i < glob->count; i++) {
        const struct token *token = &glob->tokens[i];
        const unsigned char state = states[i];
        if (state == 0)
            continue;
        switch ((enum kind)token->kind) {
        case OPEN:
            states[i + 1] |= state;
            for (size_t comma = token->next; comma != 0; comma = glob->tokens[comma].next)
                states[comma + 1] |= state;
            break;
        case COMMA:
            states[token->value + 1] |= state;
            break;
        case CLOSE:
            states[i + 1] |= state;
            break;
        case STAR:
            states[i + 1] |= state & HERE;
            break;
        case GLOBSTAR:
            states[i + 1] |= state & HERE;
            if ((state & WITHIN) && ends)
                states[i + 1] |= HERE;
            if ((state & HERE) && starts) {
                states[i] |= WITHIN;
                states[i + 1] |= SKIPPED;
            }
            break;
        case LITERAL:
            if ((state & SKIPPED) && token->value == '/')
                states[i + 1] |= HERE;
            break;
        case ANY:
        case SET:
        case END:
            break;
        }
    }
}

static bool takes(const struct glob *glob, const struct token *token, uint32_t character) {
    if (token->kind == LITERAL)
        return token->value == character;
    const char *set = glob->pattern + token->value;
    bool found = true;
    return character != '/' &&
           (token->kind == ANY || (token->kind == SET && read_set(&set, character, &found))) && found;
}

/* From states, none of which is before `from`, to *next. The first one there; glob->count: nothing is left
 * that could match. */
static size_t step(const struct glob *glob, const unsigned char *states, size_t from, uint32_t character,
                   unsigned char *next) {
    size_t first = glob->count;
    memset(next + from, 0, glob->count - from);
    for (size_t i = from; i < glob->count; i++) {
        const struct token *token = &glob->tokens[i];
        bool star = token->kind == STAR || token->kind == GLOBSTAR;
        next[i] |= states[i] & WITHIN;
        if (states[i] & HERE) {
            if (star && character != '/')
                next[i] |= HERE;
            else if (takes(glob, token, character))
                next[i + 1] |= HERE;
        }
        if (first == glob->count && next[i] != 0)
            first = i;
    }
    return first;
}

/* Two sets of states, of which one is made out of the other in turn. */
struct states {
    unsigned char sets[2][GLOB_MAX];
    unsigned turn; /* the set that holds now */
    size_t from;   /* its first state */
};

/* All-zero states become those that `state` says; NULL: those of the beginning. */
static void begin(const struct glob *glob, struct states *states, const unsigned char *state) {
    unsigned char *set = states->sets[0];
    if (state != NULL)
        memcpy(set, state, glob->count);
    else
        glob_begin(glob, set);
    while (states->from < glob->count && set[states->from] == 0)
        states->from++;
}

/* Takes one character. False where nothing is left that could match. */
static bool advance(const struct glob *glob, struct states *states, uint32_t character, bool starts) {
    unsigned char *now = states->sets[states->turn];
    states->turn ^= 1;
    close_states(glob, now, states->from, starts, character == '/');
    states->from = step(glob, now, states->from, character, states->sets[states->turn]);
    return states->from < glob->count;
}

/* Takes a text; starts: it begins a component. */
static bool advance_text(const struct glob *glob, struct states *states, const char *text, bool starts) {
    while (*text != '\0') {
        uint32_t character = next_character(&text);
        if (!advance(glob, states, character, starts))
            return false;
        starts = character == '/';
    }
    return true;
}

/*
 * What holds at the end of a path. A slash behind it is tried too: "**" at the end may match no component,
 * and then the slash before it has nothing to match ("/a/" and a "**" is "/a"). The states are used up.
 */
static unsigned conclude(const struct glob *glob, struct states *states, bool is_root) {
    const size_t last = glob->count - 1;
    close_states(glob, states->sets[states->turn], states->from, is_root, true);
    unsigned matches = states->sets[states->turn][last] & (HERE | (is_root ? SKIPPED : 0)) ? GLOB_MATCHES : 0;
    if (!advance(glob, states, '/', is_root))
        return matches;
    close_states(glob, states->sets[states->turn], states->from, true, false);
    return (states->sets[states->turn][last] & SKIPPED ? GLOB_MATCHES : matches) | GLOB_GOES_ON;
}

bool glob_match(const char *pattern, const char *path) {
    struct glob glob;
    struct states states = {.turn = 0};
    if (!compile(pattern, &glob))
        return strcmp(pattern, path) == 0;
    begin(&glob, &states, NULL);
    return advance_text(&glob, &states, path, false) &&
           (conclude(&glob, &states, strcmp(path, "/") == 0) & GLOB_MATCHES) != 0;
}

/* --- component by component --- */

struct glob *glob_compile(const char *pattern) {
    struct glob *glob = malloc(sizeof *glob);
    char *copy = strdup(pattern);
    if (glob == NULL || copy == NULL || !compile(copy, glob)) {
        free(glob);
        free(copy);
        return NULL;
    }
    return glob;
}

void glob_free(struct glob *glob) {
    if (glob != NULL)
        free((void *)(uintptr_t)glob->pattern);
    free(glob);
}

size_t glob_state_size(const struct glob *glob) {
    return glob->count;
}

void glob_begin(const struct glob *glob, unsigned char *state) {
    memset(state, 0, glob->count);
    state[0] = HERE;
}

unsigned glob_enter(const struct glob *glob, const unsigned char *state, const char *name,
                    unsigned char *next) {
    struct states states = {.turn = 0};
    begin(glob, &states, state);
    if (!advance(glob, &states, '/', false) || !advance_text(glob, &states, name, true))
        return 0;
    memset(next, 0, states.from);
    memcpy(next + states.from, states.sets[states.turn] + states.from, glob->count - states.from);
    return conclude(glob, &states, false);
}

/* --- part by part --- */

enum glob_part glob_part_at(const struct glob *glob, size_t index, uint32_t *character) {
    static const enum glob_part parts[] = {
        [LITERAL] = GLOB_CHARACTER, [ANY] = GLOB_ANY,        [SET] = GLOB_SET,
        [STAR] = GLOB_STAR,         [GLOBSTAR] = GLOB_STARS, [OPEN] = GLOB_OPEN,
        [COMMA] = GLOB_COMMA,       [CLOSE] = GLOB_CLOSE,    [END] = GLOB_END};
    *character = glob->tokens[index].value;
    return parts[glob->tokens[index].kind];
}

bool glob_set_has(const struct glob *glob, size_t index, uint32_t character) {
    const char *set = glob->pattern + glob->tokens[index].value;
    bool found = false;
    return read_set(&set, character, &found) && found;
}

bool glob_set_reaches(const struct glob *glob, size_t index) {
    const char *start = glob->pattern + glob->tokens[index].value;
    const char *end = start;
    bool ignored;
    if (*start == '!' || *start == '^' || !read_set(&end, 0, &ignored))
        return true;
    for (const char *at = start; at < end; at++)
        if ((unsigned char)*at >= 0x80)
            return true;
    return false;
}
