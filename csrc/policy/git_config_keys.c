/* Which entries of git's configuration make git run something, or read more configuration. */
#include "policy/git_config.h"

#include <string.h>
#include <strings.h>

enum test {
    ALWAYS,
    NOT_EMPTY,     /* an empty value takes back what was set before */
    NOT_BOOLEAN,   /* true and false switch something built in */
    NOT_PLAIN,     /* a built-in tool's name is harmless; other names are looked up as paths */
    HAS_SLASH,     /* a host's name is harmless, a path is a program */
    SHELL_COMMAND, /* begins with "!" */
    PKCS11,        /* a URI that may name a module to be loaded, or a program for the PIN */
    ALIAS,
};

struct row {
    const char *pattern; /* of canonical keys; an asterisk stands for anything, dots too */
    enum test test;
    const char *source;
};

/* The first row that matches decides. Sources without a path: git-config(1). */
static const struct row rows[] = {
    {"include.path", ALWAYS, "git-config(1), Includes"},
    {"includeif.*.path", ALWAYS, "git-config(1), Conditional includes"},

    {"core.fsmonitor", NOT_BOOLEAN, "core.fsmonitor: a hook, unless it is a boolean"},
    {"core.hookspath", ALWAYS, "githooks(5)"},
    {"core.sshcommand", ALWAYS, "core.sshCommand"},
    {"core.gitproxy", ALWAYS, "core.gitProxy"},
    {"core.alternaterefscommand", ALWAYS, "core.alternateRefsCommand"},
    {"core.pager", ALWAYS, "core.pager"},
    {"core.editor", ALWAYS, "git-var(1), GIT_EDITOR"},
    {"core.askpass", ALWAYS, "gitcredentials(7)"},
    {"sequence.editor", ALWAYS, "git-var(1), GIT_SEQUENCE_EDITOR"},
    {"pager.*", NOT_BOOLEAN, "pager.<cmd>"},
    {"alias.*", ALIAS, "alias.*; alias.<name>.command since git 2.54"},
    {"interactive.difffilter", ALWAYS, "interactive.diffFilter"},
    {"rebase.instructionformat", ALWAYS,
     "git-rebase(1): a newline in it begins an exec line of the todo list"},
    {"hook.*.command", ALWAYS, "hook.<name>.command, git 2.54"},

    {"diff.external", ALWAYS, "diff.external"},
    {"diff.*.command", ALWAYS, "gitattributes(5), Defining an external diff driver"},
    {"diff.*.textconv", ALWAYS, "gitattributes(5), Performing text diffs of binary files"},
    {"filter.*.clean", ALWAYS, "gitattributes(5), filter"},
    {"filter.*.smudge", ALWAYS, "gitattributes(5), filter"},
    {"filter.*.process", ALWAYS, "gitattributes(5), Long Running Filter Process"},
    {"merge.*.driver", ALWAYS, "gitattributes(5), Defining a custom merge driver"},
    {"diff.tool", NOT_PLAIN, "git-mergetool--lib.sh, setup_tool: sources the file of that name"},
    {"diff.guitool", NOT_PLAIN, "git-mergetool--lib.sh, setup_tool"},
    {"merge.tool", NOT_PLAIN, "git-mergetool--lib.sh, setup_tool"},
    {"merge.guitool", NOT_PLAIN, "git-mergetool--lib.sh, setup_tool"},
    {"difftool.*.cmd", ALWAYS, "git-difftool(1)"},
    {"difftool.*.path", ALWAYS, "git-difftool(1)"},
    {"mergetool.*.cmd", ALWAYS, "git-mergetool(1)"},
    {"mergetool.*.path", ALWAYS, "git-mergetool(1)"},
    {"mergetool.*.layout", ALWAYS, "mergetools/vimdiff: goes through eval"},

    {"credential.helper", NOT_EMPTY, "gitcredentials(7), helper"},
    {"credential.*.helper", NOT_EMPTY, "gitcredentials(7), helper"},
    {"gpg.program", ALWAYS, "gpg.program"},
    {"gpg.*.program", ALWAYS, "gpg.<format>.program"},
    {"gpg.ssh.defaultkeycommand", ALWAYS, "gpg.ssh.defaultKeyCommand"},
    {"trailer.*.command", ALWAYS, "git-interpret-trailers(1)"},
    {"trailer.*.cmd", ALWAYS, "git-interpret-trailers(1)"},
    {"tar.*.command", ALWAYS, "git-archive(1)"},
    {"gc.recentobjectshook", ALWAYS, "gc.recentObjectsHook, git 2.42"},
    {"init.templatedir", ALWAYS, "git-init(1), Template directory: hooks come from there"},

    {"remote.*.uploadpack", ALWAYS, "remote.<name>.uploadpack"},
    {"remote.*.receivepack", ALWAYS, "remote.<name>.receivepack"},
    {"remote.*.vcs", ALWAYS, "gitremote-helpers(7)"},
    {"uploadpack.packobjectshook", ALWAYS, "uploadpack.packObjectsHook"},
    {"protocol.allow", ALWAYS, "protocol.allow: lets URLs of the ext helper run commands"},
    {"protocol.*.allow", ALWAYS, "protocol.<name>.allow"},
    {"submodule.*.update", SHELL_COMMAND, "git-submodule(1), update"},
    {"http.*cookiefile", ALWAYS, "http.saveCookies: git writes it"},
    {"http.*", PKCS11, "http.sslCert, http.sslKey and their like; RFC 7512: module-path, pin-source"},

    {"browser.*.cmd", ALWAYS, "git-web--browse(1)"},
    {"browser.*.path", ALWAYS, "git-web--browse(1)"},
    {"web.browser", ALWAYS, "git-web--browse(1)"},
    {"help.browser", ALWAYS, "git-help(1)"},
    {"man.viewer", NOT_PLAIN, "git-help(1)"},
    {"man.*.cmd", ALWAYS, "git-help(1)"},
    {"man.*.path", ALWAYS, "git-help(1)"},
    {"instaweb.*", NOT_BOOLEAN, "git-instaweb(1): httpd, modulePath, browser"},
    {"guitool.*.cmd", ALWAYS, "guitool.<name>.cmd"},
    {"sendemail.*smtpserver", HAS_SLASH, "git-send-email(1), --smtp-server"},
    {"sendemail.*cmd", ALWAYS, "git-send-email(1): sendmailCmd, toCmd, ccCmd, headerCmd"},
    {"imap.tunnel", ALWAYS, "git-imap-send(1)"},
    {"svn*.authors*prog", ALWAYS, "git-svn(1), --authors-prog"},

    {"lfs.customtransfer.*", ALWAYS, "git-lfs, docs/custom-transfers.md"},
    {"lfs.*standalonetransferagent", ALWAYS, "git-lfs, docs/custom-transfers.md"},
    {"lfs.extension.*", ALWAYS, "git-lfs, docs/extensions.md"},
    {"git-p4.*", NOT_BOOLEAN, "git-p4(1): goes into p4's command line"},
    {"remote.*.annex-*", NOT_BOOLEAN, "git-annex(1): annex-ssh-options, annex-*-command, annex-*-hook"},

    /* What other programs and later versions call a program of theirs. */
    {"*command", NOT_BOOLEAN, "the name's end"},
    {"*cmd", NOT_BOOLEAN, "the name's end"},
    {"*program", NOT_BOOLEAN, "the name's end"},
    {"*hook", NOT_BOOLEAN, "the name's end"},
    {"*helper", NOT_BOOLEAN, "the name's end"},
    {"*editor", NOT_BOOLEAN, "the name's end"},
    {"*pager", NOT_BOOLEAN, "the name's end"},
    {"*browser", NOT_BOOLEAN, "the name's end"},
    {"*askpass", NOT_BOOLEAN, "the name's end"},
    {"*textconv", NOT_BOOLEAN, "the name's end"},
};

static bool matches(const char *pattern, const char *key) {
    const char *star = NULL, *from = NULL;
    while (*key != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = key;
        } else if (*pattern == *key) {
            pattern++;
            key++;
        } else if (star != NULL) {
            pattern = star;
            key = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* As git_parse_maybe_bool() of git's parse.c, numbers in decimal only. */
static bool is_boolean(const char *value) {
    static const char *const words[] = {"", "true", "yes", "on", "false", "no", "off"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcasecmp(value, words[i]) == 0)
            return true;
    }
    if (*value == '-' || *value == '+')
        value++;
    return *value != '\0' && strlen(value) <= 9 && value[strspn(value, "0123456789")] == '\0';
}

static bool is_plain(const char *value) {
    return value[0] != '.' && value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                  "0123456789_.-")] == '\0';
}

/* --- aliases --- */

/* Commands of git that run nothing that is named on their command line, and write no file that is. */
static const char *const harmless_commands[] = {
    "add",      "blame", "branch",   "checkout", "cherry",    "cherry-pick", "commit", "describe", "diff",
    "fetch",    "log",   "ls-files", "ls-tree",  "merge",     "merge-base",  "pull",   "push",     "reflog",
    "remote",   "reset", "restore",  "rev-list", "rev-parse", "revert",      "rm",     "shortlog", "show",
    "show-ref", "stash", "status",   "switch",   "tag",       "whatchanged",
};

/* What begins options of theirs that do: --output=FILE, --upload-pack=, --receive-pack=, --exec=;
 * options may be shortened. */
static const char *const harmful_options[] = {"--ou", "--up", "--rec", "--ex", "--o="};

/* Without quotes and backslashes, which may stand anywhere in a word (git's alias.c, split_cmdline()). */
static void unquote(const char *value, char *out, size_t size) {
    size_t length = 0;
    for (; *value != '\0' && length + 1 < size; value++) {
        if (strchr("'\"\\", *value) == NULL)
            out[length++] = *value;
    }
    out[length] = '\0';
}

static bool alias_executes(const char *value) {
    char plain[512];
    if (strlen(value) >= sizeof(plain))
        return true;
    unquote(value, plain, sizeof(plain));
    for (size_t i = 0; i < sizeof(harmful_options) / sizeof(*harmful_options); i++) {
        if (strstr(plain, harmful_options[i]) != NULL)
            return true;
    }
    size_t word = strcspn(plain, " \t\r\n");
    for (size_t i = 0; i < sizeof(harmless_commands) / sizeof(*harmless_commands); i++) {
        if (strlen(harmless_commands[i]) == word && strncmp(plain, harmless_commands[i], word) == 0)
            return false;
    }
    return true;
}

/* --- URLs --- */

/* git-remote-ext(1) runs what the URL says, git-remote-fd(1) talks to what is open. */
static const char *const transports[] = {"ext::", "fd::"};

static bool begins(const char *text, const char *start) {
    return strncasecmp(text, start, strlen(start)) == 0;
}

static bool is_transport(const char *text) {
    for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
        if (begins(text, transports[i]))
            return true;
    }
    return false;
}

/* url.<base>.insteadOf: a base that is one's beginning becomes one with the rest of a URL. */
static bool base_makes_transport(const char *key) {
    if (strncmp(key, "url.", 4) != 0)
        return false;
    const char *base = key + 4, *dot = strrchr(key, '.');
    size_t length = dot > base ? (size_t)(dot - base) : 0;
    for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
        size_t whole = strlen(transports[i]);
        if (strncasecmp(base, transports[i], length < whole ? length : whole) == 0)
            return true;
    }
    return false;
}

static bool url_executes(const struct git_config_entry *entry) {
    if (base_makes_transport(entry->key))
        return true;
    return entry->value != NULL && (is_transport(entry->value) || strstr(entry->value, "--upload-pack") ||
                                    strstr(entry->value, "--receive-pack"));
}

/* --- */

/* Without a value git takes it for true, or refuses it. */
static bool test_executes(enum test test, const char *value) {
    if (test == ALWAYS)
        return true;
    if (value == NULL)
        return false;
    switch (test) {
    case NOT_EMPTY:
        return *value != '\0';
    case NOT_BOOLEAN:
        return !is_boolean(value);
    case NOT_PLAIN:
        return !is_plain(value);
    case HAS_SLASH:
        return strchr(value, '/') != NULL;
    case SHELL_COMMAND:
        return *value == '!';
    case PKCS11:
        return begins(value, "pkcs11:");
    case ALIAS:
        return alias_executes(value);
    case ALWAYS:
        break;
    }
    return true;
}

bool git_config_executes(const struct git_config_entry *entry) {
    if (url_executes(entry))
        return true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (matches(rows[i].pattern, entry->key))
            return test_executes(rows[i].test, entry->value);
    }
    return false;
}
