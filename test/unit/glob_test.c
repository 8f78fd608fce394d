#include "base/glob.h"
#include "base/socket_list.h"
#include "tap.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct row {
    const char *pattern;
    const char *path;
    bool matches;
};

static const struct row rows[] = {
    {"/a/b", "/a/b", true},
    {"/a/b", "/a/bc", false},
    {"/a/b", "/a", false},
    {"/", "/", true},
    {"/a/*", "/a/b", true},
    {"/a/*", "/a/.b", true},
    {"/a/*", "/a/b/c", false},
    {"/a/*", "/a", false},
    {"/a/*.sock", "/a/x.sock", true},
    {"/a/*.sock", "/a/.sock", true},
    {"/a/*/c", "/a/b/c", true},
    {"/a/*/c", "/a/c", false},
    {"/a/?", "/a/b", true},
    {"/a/?", "/a/bc", false},
    {"/a?b", "/a/b", false},
    {"/a/?", "/a/é", true},
    {"/a/?", "/a/\xff", true},
    {"/a/??", "/a/é", false},
    {"/a/[é-ü]", "/a/ö", true},
    {"/a/\xff", "/a/\xff", true},
    {"/a/[!\xff]", "/a/\xfe", true},
    /* A whole component of two stars: zero or more components. */
    {"/**", "/", true},
    {"/**", "/a", true},
    {"/**", "/a/b/c", true},
    {"/a/**", "/a", true},
    {"/a/**", "/a/b/c", true},
    {"/a/**", "/ab", false},
    {"/a/**/c", "/a/c", true},
    {"/a/**/c", "/a/b/c", true},
    {"/a/**/c", "/a/b/b/c", true},
    {"/a/**/c", "/a/b/bc", false},
    {"/a/**/c", "/ac", false},
    {"/a/**/**/c", "/a/c", true},
    {"/a/**/**/c", "/a/x/c", true},
    {"/**/c", "/c", true},
    {"/**/c/**", "/a/c/d", true},
    {"/**/c/**", "/a/d", false},
    {"/a/**/b/**/c", "/a/b/c", true},
    {"/a/**/b/**/c", "/a/x/b/y/z/c", true},
    {"/a/**/b/**/c", "/a/x/y/c", false},
    /* Not a whole one: as a single star. */
    {"/a**", "/ab", true},
    {"/a**", "/a/b", false},
    {"/a/**b", "/a/xb", true},
    {"/a/**b", "/a/x/b", false},
    {"/a/***", "/a/b", true},
    {"/a/***", "/a/b/c", false},
    /* Braces. */
    {"/a/{b,c}", "/a/b", true},
    {"/a/{b,c}", "/a/c", true},
    {"/a/{b,c}", "/a/{b,c}", false},
    {"/a/{b,c}d", "/a/cd", true},
    {"/a{,/b}", "/a", true},
    {"/a{,/b}", "/a/b", true},
    {"/a/{b,c{d,e}}f", "/a/cef", true},
    {"/a/{b,c{d,e}}f", "/a/cf", false},
    {"/a/{*.c,b/*.h}", "/a/b/x.h", true},
    {"/a/{*.c,b/*.h}", "/a/b/x.c", false},
    {"/a/{**,x}/b", "/a/p/q/b", true},
    {"/a/{**,x}/b", "/a/b", true},
    {"/a/{**,x}/b", "/a/x/b", true},
    {"/a/{b,c}/**", "/a/c/d/e", true},
    {"/a/{b/**,c}", "/a/b", true},
    {"/a/{b/**,c}", "/a/b/x/y", true},
    {"/a/{b/**,c}", "/a/c/x", false},
    {"/a/{b}", "/a/{b}", true},
    {"/a/{b}", "/a/b", false},
    {"/a/{}", "/a/{}", true},
    {"/a/b,c", "/a/b,c", true},
    {"/a/b}", "/a/b}", true},
    {"/a/{[,],x}", "/a/,", true},
    {"/a/{b\\,c,d}", "/a/b,c", true},
    {"/a/{b\\,c,d}", "/a/c", false},
    /* Sets. */
    {"/[abc]", "/b", true},
    {"/[abc]", "/d", false},
    {"/[a-c]", "/b", true},
    {"/[c-a]", "/b", false},
    {"/[!a-c]", "/d", true},
    {"/[^a-c]", "/b", false},
    {"/[]a]", "/]", true},
    {"/[!]a]", "/]", false},
    {"/[a-]", "/-", true},
    {"/[-a]", "/-", true},
    {"/[[:digit:]x]", "/7", true},
    {"/[[:digit:]x]", "/x", true},
    {"/[![:digit:]]", "/7", false},
    {"/a[/]b", "/a/b", false},
    {"/a[!x]b", "/a/b", false},
    {"/[\\]]", "/]", true},
    /* A backslash takes what follows as it is. */
    {"/a\\*", "/a*", true},
    {"/a\\*", "/ab", false},
    {"/a\\[b]", "/a[b]", true},
    {"/a\\\\", "/a\\", true},
    {"/\\a", "/a", true},
    /* Malformed: nothing but itself. */
    {"/a/[b", "/a/[b", true},
    {"/*/[b", "/a/[b", false},
    {"/*/[b", "/*/[b", true},
    {"/a/{b,c", "/a/{b,c", true},
    {"/a/{b,c", "/a/b", false},
    {"/a/{b,[c}", "/a/b", false},
    {"/*\\", "/*\\", true},
    {"/*\\", "/a\\", false},
    {"/[[.a.]]", "/a", false},
    {"/[a/b]", "/a", false},
    {"", "/a", false},
    {"**", "/a", false},
};

static void table(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok(glob_match(rows[i].pattern, rows[i].path) == rows[i].matches, "%s %s %s", rows[i].pattern,
           rows[i].matches ? "matches" : "does not match", rows[i].path);
}

static uint32_t random_state = 1;

static unsigned below(unsigned limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static const char *one_of(const char *const *words, unsigned count) {
    return words[below(count)];
}

/* Well-formed in both languages, without braces and "**". */
static void random_pattern(char *out, size_t size) {
    static const char *const pieces[] = {"a",    "b",    "c",     "ab",  ".",    "?",
                                         "[ab]", "[!a]", "[a-b]", "\\*", "[]c]", "é"};
    out[0] = '\0';
    unsigned components = 1 + below(3);
    for (unsigned i = 0; i < components; i++) {
        strncat(out, "/", size - strlen(out) - 1);
        unsigned count = 1 + below(4);
        bool star = false;
        for (unsigned j = 0; j < count; j++) {
            star = !star && below(3) == 0;
            strncat(out, star ? "*" : one_of(pieces, sizeof pieces / sizeof pieces[0]),
                    size - strlen(out) - 1);
        }
    }
}

static void random_path(char *out, size_t size) {
    static const char *const pieces[] = {"a", "b", "c", ".", "*", "]"};
    out[0] = '\0';
    unsigned components = 1 + below(3);
    for (unsigned i = 0; i < components; i++) {
        strncat(out, "/", size - strlen(out) - 1);
        unsigned count = 1 + below(4);
        for (unsigned j = 0; j < count; j++)
            strncat(out, one_of(pieces, sizeof pieces / sizeof pieces[0]), size - strlen(out) - 1);
    }
}

static void agrees_with_fnmatch(void) {
    unsigned differences = 0;
    unsigned matched = 0;
    for (unsigned i = 0; i < 400000; i++) {
        char pattern[256];
        char path[64];
        random_pattern(pattern, sizeof pattern);
        random_path(path, sizeof path);
        bool theirs = fnmatch(pattern, path, FNM_PATHNAME) == 0;
        bool ours = glob_match(pattern, path);
        matched += theirs ? 1 : 0;
        if (theirs != ours && differences++ < 5)
            printf("# %s and %s: fnmatch says %d\n", pattern, path, theirs);
    }
    is_int(differences, 0, "400,000 random pairs mean to fnmatch(3) what they mean here");
    ok(matched > 4000, "%u of them match", matched);
}

/* What braces stand for, one alternative after the other, the naive way. */
static bool any_alternative(const char *pattern, const char *path) {
    const char *open = strchr(pattern, '{');
    if (open == NULL)
        return glob_match(pattern, path);
    const char *from = open + 1;
    int depth = 1;
    const char *close = from;
    for (; depth > 0; close++)
        depth += *close == '{' ? 1 : *close == '}' ? -1 : 0;
    for (const char *at = from; at < close; at++) {
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        if ((*at == ',' && depth == 0) || at == close - 1) {
            char expanded[256];
            snprintf(expanded, sizeof expanded, "%.*s%.*s%s", (int)(open - pattern), pattern,
                     (int)(at - from), from, close);
            if (any_alternative(expanded, path))
                return true;
            from = at + 1;
        }
    }
    return false;
}

static void random_braces(char *out, size_t size, unsigned depth) {
    static const char *const pieces[] = {"a", "b", "/", "*", "/**", "c", "?"};
    unsigned count = 1 + below(3);
    for (unsigned i = 0; i < count; i++) {
        if (depth > 0 && below(3) == 0) {
            strncat(out, "{", size - strlen(out) - 1);
            random_braces(out, size, depth - 1);
            strncat(out, ",", size - strlen(out) - 1);
            if (below(4) != 0)
                random_braces(out, size, depth - 1);
            strncat(out, "}", size - strlen(out) - 1);
        } else {
            strncat(out, one_of(pieces, sizeof pieces / sizeof pieces[0]), size - strlen(out) - 1);
        }
    }
}

/* Stars that only an expansion puts side by side are read as two, and an expansion with "//" matches nothing.
 */
static bool is_comparable(const char *pattern) {
    return strstr(pattern, "//") == NULL && strstr(pattern, "*,") == NULL && strstr(pattern, "*{") == NULL &&
           strstr(pattern, "*}") == NULL;
}

static void braces_are_their_alternatives(void) {
    unsigned differences = 0;
    unsigned compared = 0;
    for (unsigned i = 0; i < 400000; i++) {
        char pattern[200] = "/";
        char path[64];
        random_braces(pattern, 100, 2);
        random_path(path, sizeof path);
        if (!is_comparable(pattern))
            continue;
        compared++;
        if (any_alternative(pattern, path) != glob_match(pattern, path) && differences++ < 5)
            printf("# %s and %s differ from the alternatives\n", pattern, path);
    }
    ok(compared > 50000, "%u random patterns with braces are compared", compared);
    is_int(differences, 0, "braces mean what their alternatives mean");
}

/* Enters the path's folders one after the other. True where each is said to match as glob_match says, and
 * none is given up above one that does. */
static bool steps_agree(const char *pattern, const char *path) {
    static unsigned char states[2][4096];
    struct glob *glob = glob_compile(pattern);
    if (glob == NULL)
        return !glob_match(pattern, path) || strcmp(pattern, path) == 0;
    unsigned outcome = GLOB_GOES_ON;
    bool agree = true;
    size_t end = 0;
    glob_begin(glob, states[0]);
    for (unsigned i = 0; outcome & GLOB_GOES_ON && path[end] == '/' && path[1] != '\0'; i++) {
        char name[128];
        char above[128];
        const char *start = path + end + 1;
        end += 1 + strcspn(start, "/");
        snprintf(name, sizeof name, "%.*s", (int)(path + end - start), start);
        snprintf(above, sizeof above, "%.*s", (int)end, path);
        outcome = glob_enter(glob, states[i % 2], name, states[(i + 1) % 2]);
        agree = agree && ((outcome & GLOB_MATCHES) != 0) == glob_match(pattern, above);
    }
    if (end != 0 && path[end] != '\0')
        agree = agree && !glob_match(pattern, path);
    glob_free(glob);
    return agree;
}

static void steps_are_the_whole(void) {
    unsigned differences = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok(steps_agree(rows[i].pattern, rows[i].path), "%s means the same to %s step by step",
           rows[i].pattern, rows[i].path);
    for (unsigned i = 0; i < 200000; i++) {
        char pattern[200] = "/";
        char path[64];
        if (i % 2 == 0)
            random_pattern(pattern, sizeof pattern);
        else
            random_braces(pattern, 100, 2);
        random_path(path, sizeof path);
        if (!steps_agree(pattern, path) && differences++ < 5)
            printf("# %s differs step by step for %s\n", pattern, path);
    }
    is_int(differences, 0, "200,000 random pairs mean step by step what they mean as a whole");
}

static void escapes(void) {
    static const char *const paths[] = {"/a", "/a*b?", "/[x]", "/{a,b}", "/a\\b", "/\xff é", "/"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *escaped = glob_escape(paths[i]);
        ok(glob_match(escaped, paths[i]), "%s, escaped, matches itself", paths[i]);
        free(escaped);
    }
    char *escaped = glob_escape("/a*b");
    ok(!glob_match(escaped, "/axb"), "and nothing else");
    free(escaped);
    ok(glob_has_magic("/a*") && glob_has_magic("/a?") && glob_has_magic("/[a") && glob_has_magic("/{a") &&
           !glob_has_magic("/a]}\\"),
       "* ? [ { are magic");
}

/* Each as long as a path can be: what takes exponential time in others is over at once. */
static void is_over_soon(void) {
    static const char *const pieces[] = {"*a",    "{a,aa}", "{a,{a,{a,{a,a}}}}", "**/", "*?", "[a-z]*",
                                         "{*,*}", "{"};
    static char pattern[4096];
    static char path[4096];
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct timespec before;
        struct timespec after;
        strcpy(pattern, "/");
        while (strlen(pattern) + strlen(pieces[i]) + 2 < sizeof pattern)
            strcat(pattern, pieces[i]);
        strcat(pattern, "b");
        clock_gettime(CLOCK_MONOTONIC, &before);
        bool matched = glob_match(pattern, path);
        clock_gettime(CLOCK_MONOTONIC, &after);
        double seconds =
            (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
        ok(!matched && seconds < 10, "%s, 4,000 bytes of it, takes %.3f s", pieces[i], seconds);
    }
    static char longer[8192];
    memset(longer, '*', sizeof longer - 1);
    longer[0] = '/';
    ok(!glob_match(longer, "/a") && glob_match(longer, longer),
       "a pattern that is too long matches only itself");
}

static void lists(void) {
    static char exact[] = "/run/docker.sock";
    static char folder[] = "/run/user/";
    static char glob[] = "/tmp/ssh-*/agent.*";
    static char globbed_folder[] = "/srv/*/sockets/";
    char *entries[] = {exact, folder, glob, globbed_folder};
    static const struct {
        const char *path;
        bool has;
    } wanted[] = {
        {"/run/docker.sock", true},      {"/run/docker.sock2", false}, {"/run/docker.sock/x", false},
        {"/run/user/1000/bus", true},    {"/run/users", false},        {"/tmp/ssh-abc/agent.12", true},
        {"/tmp/ssh-abc/x/agent", false}, {"/srv/a/sockets/b/c", true}, {"/srv/a/socketsb", false}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ok(socket_list_has(entries, 4, wanted[i].path) == wanted[i].has, "%s is %sin the list",
           wanted[i].path, wanted[i].has ? "" : "not ");
    ok(!socket_list_has(NULL, 0, "/a"), "an empty list has nothing");
}

int main(void) {
    table();
    agrees_with_fnmatch();
    braces_are_their_alternatives();
    steps_are_the_whole();
    escapes();
    is_over_soon();
    lists();
    return done_testing();
}
