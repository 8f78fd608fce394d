/* What the expressions of a profile match, as the C library's own engine has it: over bytes, as Seatbelt's.
 */
#include "base/glob.h"
#include "plan/sbpl_regex.h"
#include "tap.h"

#include <regex.h>
#include <stdlib.h>
#include <strings.h>

static bool matches(const struct sbpl_text *regex, const char *path) {
    regex_t compiled;
    if (regcomp(&compiled, regex->data, REG_EXTENDED | REG_NOSUB) != 0)
        return ok(false, "%s is an expression", regex->data);
    bool matched = regexec(&compiled, path, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matched;
}

/* A denial holds below what matches, too. */
static bool glob_holds(const char *pattern, const char *path) {
    char part[256];
    snprintf(part, sizeof part, "%s", path);
    for (;;) {
        if (glob_match(pattern, part[0] == '\0' ? "/" : part))
            return true;
        if (part[0] == '\0')
            return false;
        *strrchr(part, '/') = '\0';
    }
}

/* A denial is to match what the glob does, a grant no more than that; exact: both alike. */
static void compare(const char *pattern, bool exact) {
    static const char *const pieces[] = {"a", "b", "c",  "ab", ".x", "\xc3\xa9", "a\xe2\x82\xac",
                                         "-", "]", "k[", "a+"};
    const size_t count = sizeof pieces / sizeof pieces[0];
    struct error err = {0};
    struct sbpl_text closed = {0};
    struct sbpl_text open = {0};
    bool said = sbpl_regex_of_glob(pattern, false, true, &closed, &err) == 0;
    bool granted = sbpl_regex_of_glob(pattern, false, false, &open, &err) == 0;
    unsigned missed = 0, more = 0, granted_more = 0, granted_less = 0;
    for (size_t i = 0; said && i < count * (count + 1) * (count + 1); i++) {
        char path[64];
        const size_t second = i / count % (count + 1), third = i / count / (count + 1);
        snprintf(path, sizeof path, "/%s%s%s%s%s", pieces[i % count], second < count ? "/" : "",
                 second < count ? pieces[second] : "", third < count ? "/" : "",
                 third < count ? pieces[third] : "");
        const bool holds = glob_holds(pattern, path), is = glob_match(pattern, path);
        missed += holds && !matches(&closed, path);
        more += !holds && matches(&closed, path);
        granted_more += granted && !is && matches(&open, path);
        granted_less += granted && is && !matches(&open, path);
    }
    ok(said && missed == 0 && granted_more == 0, "%s denies all that it matches, and grants nothing else",
       pattern);
    if (exact)
        ok(granted && more == 0 && granted_less == 0, "%s says just that", pattern);
    sbpl_text_clear(&closed);
    sbpl_text_clear(&open);
}

static void compare_globs(void) {
    static const char *const exact[] = {
        "/a/*",    "/*",           "/**",   "/a/**",    "/**/b",  "/a/**/b", "/a/**/**", "/**/a/**",
        "/a**",    "/a/b**",       "/***",  "/{a,b}/c", "/{a,}b", "/a{,/b}", "/{a,b/c}", "/{{a,b},c}",
        "/[ab]/c", "/a/[a-c]",     "/[]a]", "/[a-]*",   "/k[[]",  "/a\\+",   "/a+",      "/{a}",
        "/[a",     "/[[:alpha:]]", "/.*",   "/a?/b",    "/*.x",   "/{,}a",
    };
    static const char *const wider[] = {"/{a,**}/b", "/{**/a,b}/c", "/[!ab]*/c", "/a/{b,**}",
                                        "/{**,b}",   "/[\xc3\xa9]", "/[!a]",     "/?",
                                        "/a?",       "/a??",        "/?\?/*"};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        compare(exact[i], true);
    for (size_t i = 0; i < sizeof wider / sizeof wider[0]; i++)
        compare(wider[i], false);
}

/* Every byte that a name can have: its expression matches that name alone, and the same in the other case. */
static void every_byte(void) {
    unsigned wrong = 0;
    for (unsigned byte = 1; byte < 256; byte++) {
        char path[] = {'/', 'x', (char)byte, 'y', '\0'};
        struct sbpl_text regex = {0};
        struct error err = {0};
        if (byte == '/')
            continue;
        wrong += sbpl_regex_of_path(path, true, &regex, &err) != 0;
        for (unsigned other = 1; wrong == 0 && other < 256; other++) {
            char second[] = {'/', 'X', (char)other, 'Y', '\0'};
            bool same = other == byte || (other < 0x80 && byte < 0x80 && strcasecmp(path, second) == 0);
            wrong += matches(&regex, second) != same;
        }
        sbpl_text_clear(&regex);
    }
    is_int(wrong, 0, "any byte in a path stands for itself, letters for both of theirs");
}

static void folded(void) {
    static const struct {
        const char *path, *name;
        bool same;
    } rows[] = {
        {"/config", "/CON\xef\xac\x81G", true},
        {"/office",
         "/o\xef\xac\x83"
         "ce",
         true},
        {"/keys",
         "/\xe2\x84\xaa"
         "ey\xc5\xbf",
         true},
        {"/a", "/\xc3\xa1", false},
        {"/x", "/x/y", true},
        {"/x", "/xy", false},
        {"/tmp/x", "/private/tmp/X", true},
        {"/private/var/x", "/VAR/x", true},
        {"/x", "/System/Volumes/Data/x", true},
        {"/x", "/private/x", false},
        {"/", "/any/thing", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sbpl_text regex = {0};
        struct error err = {0};
        bool said = sbpl_regex_of_path(rows[i].path, true, &regex, &err) == 0;
        ok(said && matches(&regex, rows[i].name) == rows[i].same, "%s %s %s", rows[i].path,
           rows[i].same ? "holds" : "does not hold", rows[i].name);
        sbpl_text_clear(&regex);
    }
}

static void strings(void) {
    struct sbpl_text text = {0};
    sbpl_text_add_string(&text, "a\"\\\n\x01\x7f\xc3\xa9\xff\xc3(");
    is_str(text.data, "\"a\\\"\\\\\\x0a\\x01\\x7f\xc3\xa9\\xff\\xc3(\"",
           "a string is escaped so that any byte stands for itself");
    sbpl_text_clear(&text);

    struct sbpl_rule rule = {.out = &text, .head = "deny file-write*", .message = "m"};
    sbpl_rule_end(&rule);
    ok(text.size == 0, "a rule without a filter is none");
    for (unsigned i = 0; i < 10000; i++)
        sbpl_rule_string(&rule, "literal", "/x");
    sbpl_rule_end(&rule);
    unsigned rules = 0, messages = 0;
    for (const char *at = text.data; (at = strstr(at, "(deny")) != NULL; at++)
        rules++;
    for (const char *at = text.data; (at = strstr(at, "(with")) != NULL; at++)
        messages++;
    ok(rules == 3 && messages == 3, "many filters are several rules, each with the message");
    sbpl_text_clear(&text);
}

int main(void) {
    strings();
    every_byte();
    folded();
    compare_globs();
    return done_testing();
}
