/* What is read of git's configuration, and what is left of it, beside what the real git says of the same
 * file. */
#include "policy/git_config.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "git_config_entries.h"
#include "tap.h"

#define MUTATIONS 1200

static char scratch[] = "/var/tmp/git-config-XXXXXX";
static char file[64];

/* A growing list in the form of git config --list -z: "key\nvalue\0", or "key\0". */
struct list {
    char *bytes;
    size_t length;
};

static void list_add(struct list *list, const char *bytes, size_t length) {
    list->bytes = realloc(list->bytes, list->length + length + 1);
    if (list->bytes == NULL)
        abort();
    memcpy(list->bytes + list->length, bytes, length);
    list->length += length;
}

static bool list_entry(const struct git_config_entry *entry, void *data) {
    struct list *list = data;
    list_add(list, entry->key, strlen(entry->key) + (entry->value == NULL));
    if (entry->value != NULL) {
        list_add(list, "\n", 1);
        list_add(list, entry->value, strlen(entry->value) + 1);
    }
    return true;
}

/* Versions of git differ in the kind of white space inside a value, see git 2.45's release notes. */
static void plain_spaces(struct list *list) {
    for (size_t i = 0; i < list->length; i++) {
        if (list->bytes[i] == '\t' || list->bytes[i] == '\r')
            list->bytes[i] = ' ';
    }
}

static bool same(const struct list *one, const struct list *other) {
    return one->length == other->length &&
           (one->length == 0 || memcmp(one->bytes, other->bytes, one->length) == 0);
}

/* In a heap block of exactly its size, so that an over-read shows. */
static char *exactly(const char *text, size_t length) {
    char *copy = malloc(length == 0 ? 1 : length);
    if (copy == NULL)
        abort();
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

static int ours(const char *text, size_t length, struct list *list) {
    cleanup_free char *copy = exactly(text, length);
    int result = git_config_read(copy, length, list_entry, list);
    plain_spaces(list);
    return result;
}

/* --- what git says --- */

static void write_file(const char *text, size_t length) {
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length || close(fd) != 0)
        abort();
}

/* 0, or -1: git refuses the file. */
static int gits(const char *text, size_t length, struct list *list) {
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent",
                                              "GIT_CONFIG_NOSYSTEM=1", NULL};
    const char *const arguments[] = {"git", "config", "--file", file, "--list", "-z", NULL};
    int ends[2];
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_t actions;
    write_file(text, length);
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, "git", &actions, NULL, (char **)(uintptr_t)arguments,
                     (char **)(uintptr_t)environment) != 0)
        abort();
    close(ends[1]);
    posix_spawn_file_actions_destroy(&actions);
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
        list_add(list, buffer, (size_t)got);
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 128)
        abort();
    plain_spaces(list);
    return WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* The list without what executes. */
static void without_executing(const struct list *list, struct list *out) {
    for (size_t at = 0; at < list->length;) {
        size_t length = strlen(list->bytes + at) + 1;
        char *key = exactly(list->bytes + at, length);
        struct git_config_entry entry = {.key = key, .value = strchr(key, '\n')};
        /* A subsection has no newline: the first one ends the key. */
        if (entry.value != NULL)
            *(char *)(uintptr_t)entry.value++ = '\0';
        if (!git_config_executes(&entry))
            list_add(out, list->bytes + at, length);
        free(key);
        at += length;
    }
}

static void dump(const char *label, const char *text, size_t length) {
    printf("# %s: ", label);
    for (size_t i = 0; i < length; i++)
        printf(text[i] > ' ' && text[i] < 127 && text[i] != '\\' ? "%c" : "\\x%02x", (unsigned char)text[i]);
    printf("\n");
}

struct tally {
    unsigned accepted, entries, disarmed;
};

/* True where git takes the file, or what is read of it and left of it is the same. */
static bool agrees(const char *text, size_t length, struct tally *tally) {
    struct list git = {NULL, 0}, own = {NULL, 0}, wanted = {NULL, 0}, left = {NULL, 0};
    bool fine = true;
    char *out = NULL;
    size_t out_length = 0, count = 0, again = 0;
    char first[64];
    if (gits(text, length, &git) == 0) {
        int result = ours(text, length, &own);
        tally->accepted++;
        tally->entries += git.length > 0;
        if (result == 0) {
            cleanup_free char *copy = exactly(text, length);
            fine = same(&git, &own) &&
                   git_config_disarm(copy, length, &out, &out_length, &count, first, sizeof(first)) == 0;
            tally->disarmed += count > 0;
            without_executing(&git, &wanted);
            if (fine && count > 0) {
                cleanup_free char *second = NULL;
                size_t ignored;
                fine = gits(out, out_length, &left) == 0 && same(&wanted, &left) &&
                       git_config_disarm(out, out_length, &second, &ignored, &again, first, sizeof(first)) ==
                           0 &&
                       again == 0;
            } else if (fine) {
                fine = same(&wanted, &git);
            }
        } else {
            fine = memchr(text, '\0', length) != NULL; /* of which git takes what is before it */
        }
    }
    if (!fine) {
        dump("file", text, length);
        dump("git", git.bytes, git.length);
        dump("ours", own.bytes, own.length);
        dump("left", out, out_length);
    }
    free(git.bytes);
    free(own.bytes);
    free(wanted.bytes);
    free(left.bytes);
    free(out);
    return fine;
}

/* --- the files --- */

#define FILE_OF(text)                                                                                        \
    { text, sizeof(text) - 1 }

static const struct {
    const char *text;
    size_t length;
} nasty[] = {
    FILE_OF(""),
    FILE_OF("\n"),
    FILE_OF("\xef\xbb\xbf[core]\n\tfsmonitor = x\n"),
    FILE_OF("\xef\xbb\xbf"),
    FILE_OF("\xef\xbb[core]\n"),
    FILE_OF("[core] fsmonitor=x\n\tbare = false\n"),
    FILE_OF("[core]fsmonitor=x"),
    FILE_OF("[core] bare = true\n[a][b \"c\"][core] editor=x # y\nz = 1"),
    FILE_OF("# [core]\n; fsmonitor = x\n[core] # fsmonitor = y\n  fsmonitor = z ; comment\n"),
    FILE_OF("[a]\nb = \\\n  c\\\n d\n"),
    FILE_OF("[core]\neditor = a\\\n[core]\\\nbare = true\\\n\nbare = false\n"),
    FILE_OF("[core]\neditor = a\\\r\n  b\\\r\n\tc = d\r\nbare = true\r\n"),
    FILE_OF("[core]\neditor = x\\"),
    FILE_OF("[core]\neditor = x\r"),
    FILE_OF("[core]\r\rfsmonitor\r\n=x"),
    FILE_OF(
        "[a \"sub\\\"x\\\\y\\z]\"]\nk = v\n[A \"SUB\"]\nK = V\n[A.SUB]\nK = V\n[a.]\nb\n[.]\nc\n[..a]\nd\n"),
    FILE_OF("[ \"x\"]\nk = v\n[a \t \"\"]\nk\n[a\r\"b\"]\nk\n[filter \"\"]\nclean = x\n"),
    FILE_OF("[filter.LFS]\nclean = x\n[filter \"LFS\"]\nsmudge = y\n[FILTER \"a.b\"]\nPROCESS = z\n"),
    FILE_OF("[a]\nk\nk2 \nk3\t\nk4 =\nk5=\"\"\nk6 = \"\" \nk7 = a \"\" \nk8 = \"a \" \nk9=\"#;\"\n"),
    FILE_OF("[a]\nk = a  b\t\tc  ; d\nl = a\\tb\\nc\\bd\\\\e\\\"f\nm = x   \\\n\nn = \"a\\\nb\"c\n"),
    FILE_OF("[a]\nk = \"x\n"),
    FILE_OF("[a]\nk = x\\y\n"),
    FILE_OF("[a]\nk x\n"),
    FILE_OF("[a]\nk # x\n"),
    FILE_OF("[a]\n1k = x\n"),
    FILE_OF("[a]\nk1-x = y\n"),
    FILE_OF("[a]\nk_x = y\n"),
    FILE_OF("k = v\n[a]\nk = v\n"),
    FILE_OF("[]\nk = v\n"),
    FILE_OF("[a\n]\nk = v\n"),
    FILE_OF("[a \"b\nc\"]\nk = v\n"),
    FILE_OF("[a \"b\" ]\nk = v\n"),
    FILE_OF("[a \"b\"]]\nk = v\n"),
    FILE_OF("[a b]\nk = v\n"),
    FILE_OF("[a]\nk = v\0w\nl = m\n"),
    FILE_OF("[a \"b\0c\"]\nk = v\n"),
    FILE_OF("[a]\n\0\n"),
    FILE_OF("[a]\nk\0 = v\n"),
    FILE_OF("[a]\n\v\nk = v\n"),
    FILE_OF("[a]\nk = \v v \f\n"),
    FILE_OF("[\xc3\xa4]\nk = v\n"),
    FILE_OF("[a \"\xff\xfe\"]\nk = \xff\n"),
    FILE_OF("[pager]\nlog = evil\ndiff = false\n[alias]\nst = status\nx = !evil\n y = \"!evil\"\n"),
    FILE_OF("[include]\npath = a\n[includeIf \"gitdir:/\"]\npath = b\n[include]path=c\n"),
    FILE_OF("[remote \"o\"]\nurl = ext::sh\nurl = https://x\nfetch = +refs/heads/*:refs/remotes/o/*\n"),
    FILE_OF("[core]\n\teditor = \"a\"\\\n\"b\"\\\n# c\n\tbare = true\n"),
    FILE_OF("[core] editor = a \\\n; b\n[user] name = x\n"),
};

static const char *const pieces[] = {
    "[",
    "]",
    "\"",
    "\\",
    "=",
    "#",
    ";",
    " ",
    "\t",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\\\n",
    "\\\r\n",
    ".",
    "-",
    "a",
    "b1",
    "!x",
    "[a]",
    "[b]",
    "[core]",
    "[core]\n",
    "editor",
    "EDITOR",
    "fsmonitor",
    "pager",
    "bare",
    "true",
    "clean",
    "path",
    "[filter ",
    "[filter.x]",
    "\"x\"]",
    "[Alias]",
    "[include]",
    " = ",
    "\xef\xbb\xbf",
    "\v",
    "\\t",
    "\\\"",
    "\\n",
    "core",
    "[user]\n",
    "name",
    "name = y\n",
    "url = ext::x\n",
    "[remote \"o\"]\n",
    "\xc3\xa4",
    "editor = x",
    "fsmonitor=y\\\n",
};

static unsigned long long seed = 20240229;

static size_t below(size_t limit) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (size_t)(seed >> 33) % limit;
}

/* A nasty file with some changes, or pieces put together. */
static size_t make_file(char *out, size_t size) {
    size_t length = 0;
    if (below(3) > 0) {
        size_t from = below(sizeof(nasty) / sizeof(*nasty));
        length = nasty[from].length;
        memcpy(out, nasty[from].text, length);
    } else {
        memcpy(out, "[core]\n", length = below(2) * 7);
    }
    for (size_t changes = 1 + below(below(3) == 0 ? 12 : 3); changes > 0; changes--) {
        const char *piece = pieces[below(sizeof(pieces) / sizeof(*pieces))];
        size_t at = below(4) == 0 ? length : below(length + 1);
        size_t insert = strlen(piece), drop = below(4) == 0 && at < length ? below(length - at) % 4 : 0;
        if (length + insert > size)
            break;
        memmove(out + at + insert, out + at + drop, length - at - drop);
        memcpy(out + at, piece, insert);
        length = length + insert - drop;
    }
    return length;
}

static void test_beside_git(void) {
    struct tally table = {0, 0, 0}, random = {0, 0, 0};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof(nasty) / sizeof(*nasty); i++) {
        ok(agrees(nasty[i].text, nasty[i].length, &table), "nasty file %zu says what it says to git", i);
    }
    ok(table.accepted >= 25 && table.disarmed >= 10, "git takes %u of them, %u execute", table.accepted,
       table.disarmed);
    for (unsigned i = 0; i < MUTATIONS && wrong < 5; i++) {
        char text[2048];
        size_t length = make_file(text, sizeof(text));
        wrong += !agrees(text, length, &random);
    }
    ok(wrong == 0, "%d random files, %u of them taken by git, %u with entries, %u that execute", MUTATIONS,
       random.accepted, random.entries, random.disarmed);
    ok(random.entries > MUTATIONS / 10 && random.disarmed > MUTATIONS / 20, "enough of them say something");
}

/* --- what executes --- */

static void test_executes(void) {
    for (size_t i = 0; i < sizeof(executing) / sizeof(*executing); i++) {
        struct git_config_entry entry = {.key = executing[i].key, .value = executing[i].value};
        ok(git_config_executes(&entry), "%s = %s executes", entry.key, entry.value);
    }
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        struct git_config_entry entry = {.key = harmless[i].key, .value = harmless[i].value};
        ok(!git_config_executes(&entry), "%s = %s does not execute", entry.key,
           entry.value == NULL ? "(none)" : entry.value);
    }
}

/* --- what is left --- */

static void test_disarm(void) {
    static const struct {
        const char *before, *after, *first;
        size_t count;
    } cases[] = {
        {"[core] fsmonitor = x\n\tbare = true\n", "[core] #fsmonitor = x\n\tbare = true\n", "core.fsmonitor",
         1},
        {"[core]\n\teditor = a\\\n  b\n\tbare = true\n[diff]external=y",
         "[core]\n\t#editor = a\\\n#  b\n\tbare = true\n[diff]#external=y", "core.editor", 2},
        {"[core\n bare = x\n\n[a]", "#[core\n# bare = x\n#\n#[a]", "", 1},
        {"[core]\n\tbare = true\n", NULL, "", 0},
        {"", NULL, "", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char first[64] = "";
        size_t length = 0, count = 99;
        cleanup_free char *out = NULL;
        int result = git_config_disarm(cases[i].before, strlen(cases[i].before), &out, &length, &count, first,
                                       sizeof(first));
        ok(result == 0 && count == cases[i].count && strcmp(first, cases[i].first) == 0, "case %zu: %s", i,
           first);
        is_str(out, cases[i].after, "a comment sign before what executes, nothing else");
    }
}

static bool stop_at_once(const struct git_config_entry *entry, void *data) {
    (void)entry;
    ++*(int *)data;
    return false;
}

static void test_limits(void) {
    enum { LONG = 70000 };
    static char text[LONG + 32];
    size_t head = (size_t)sprintf(text, "[core]\neditor = ");
    memset(text + head, 'x', LONG);
    struct list list = {NULL, 0};
    ok(ours(text, head + LONG, &list) == -1, "an entry of more than 64 KiB is not read");
    char *out = NULL;
    size_t length, count;
    char first[8];
    ok(git_config_disarm(text, head + LONG, &out, &length, &count, first, sizeof(first)) == 0 && count == 1 &&
           out[0] == '#' && out[8] == '#',
       "and becomes a comment");
    free(out);
    free(list.bytes);
    int calls = 0;
    ok(git_config_read("[a]\nb\nc\n", 8, stop_at_once, &calls) == 0 && calls == 1, "who reads may stop");
}

static void test_value(void) {
    static const char text[] = "[core]\nhooksPath = a\n[CORE]\nHOOKSPATH = \"b c\" # d\n[x \"Y\"]\nz\n";
    cleanup_free char *hooks = git_config_value(text, strlen(text), "core.hookspath");
    is_str(hooks, "b c", "the last value counts");
    ok(git_config_value(text, strlen(text), "x.Y.z") == NULL, "no value is none");
    ok(git_config_value(text, strlen(text), "x.y.z") == NULL, "a subsection's case counts");
    ok(git_config_value("[a]\nb=c\n[", 9, "a.b") == NULL, "nothing is known of an unreadable file");
}

int main(void) {
    if (mkdtemp(scratch) == NULL)
        return 1;
    snprintf(file, sizeof(file), "%s/config", scratch);
    test_executes();
    test_disarm();
    test_limits();
    test_value();
    test_beside_git();
    unlink(file);
    rmdir(scratch);
    return done_testing();
}
