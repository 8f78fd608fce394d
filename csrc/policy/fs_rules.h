/*
 * The file rules of one run: the options' entries and the defaults, resolved to files for a machine's cwd at
 * the moment the run starts. Looks at the file system through platform/resolve.h; decides nothing about
 * mounts.
 */
#ifndef OS_SANDBOX_POLICY_FS_RULES_H
#define OS_SANDBOX_POLICY_FS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "platform/resolve.h"
#include "policy/options.h"
#include "policy/path_memory.h"

enum fs_rule_kind {
    FS_ALLOW_WRITE,
    FS_DENY_WRITE,
    FS_DENY_READ, /* and with it writing */
    FS_ALLOW_READ,
    FS_SHOW_LINK,     /* a symlink that leads to what may be read; it opens nothing itself */
    FS_SHOW_FOLDER,   /* one that can be entered, though nothing in it may be read */
    FS_PRIVATE_TMP,   /* a folder of the sandbox's own stands there, see private_folders.h */
    FS_PRIVATE_COPY,  /* the same, that begins with what the host's folder has */
    FS_PRIVATE_EMPTY, /* where that may not be shown */
};

/* Who wants a rule about reading: it decides between rules on one path, and what one lifts of another. */
enum fs_rule_origin {
    FS_ASKED,   /* the options name it */
    FS_DEFAULT, /* credentials */
    FS_STRICT,  /* defaultRead "deny": what it closes, and what it leaves open. That lifts nothing else */
    FS_ORIGINS,
};

/* Where a rule comes from: an entry of a list of the options' filesystem, or of additionalDirs; name NULL:
 * neither, a default. */
struct fs_source {
    const char *name; /* "denyRead"; constant */
    size_t entry;
};

struct fs_rule {
    enum fs_rule_kind kind;
    enum fs_rule_origin origin;
    char *path; /* normal, free of symlinks; owned */
    uint64_t device;
    uint64_t inode;
    bool directory;
    const char *why; /* it is denied, for a violation's line; NULL where it is allowed */
    struct fs_source source;
};

/* A denial that holds by name, whatever is there or is not (payload.h: struct payload_rule). */
struct fs_name_rule {
    bool read; /* reading is denied, too */
    bool glob;
    char *path; /* real as far as it exists, or a pattern; owned */
    const char *why;
    struct fs_source source;
};

struct fs_rules {
    struct fs_rule *items;
    size_t count;
    size_t capacity;
    struct fs_name_rule *names;
    size_t name_count;
    size_t name_capacity;
    struct strvec opened; /* what allowRead leads to */
    struct strvec later;  /* read-denied paths that are not there, real as far as they exist */
    char *common_dir;     /* the linked worktree's (git_place.h), or NULL */
    char *worktree;       /* its name there */
    char *package_cache; /* npm's cache, real as far as it exists, where it could be shown and is not; NULL */
    bool cache_is_missing;  /* it is to be shown, and there is no folder to show it at */
    struct strvec warnings; /* what a person should know, whole sentences */
    /* The options' entries that deny, expanded but as written: for a last look at what they lead to. */
    struct strvec read_denied;
    struct strvec write_denied;
    /* Last components of what is read-denied and there, as written and as it resolved. */
    struct strvec read_denied_names;
};

struct fs_place {
    const char *home;
    const char *account_home; /* of the user's account, where that is another directory; or NULL */
    const struct strvec *always_read_only; /* what no write root may cover */
    const char *tmpdir;
    const char *cwd; /* the machine's; absolute */
    const struct strvec *additional_dirs;
    struct path_memory *memory;        /* the session's */
    struct glob_cache *globs;          /* the session's; or NULL */
    bool supervised;                   /* name rules are held */
    const struct strvec *unix_sockets; /* network.allowUnixSockets; NULL: none */
    /* What is started, for strict reads; NULL: nothing is. */
    const char *search_path;   /* the command's PATH */
    const char *program;       /* the command's first word */
    const char *package_cache; /* where the command's npm has its cache; absolute; NULL: nowhere */
    const char *start;         /* where it starts; absolute */
};

/*
 * All rules of a run: write roots (write_roots.h), what is always denied, protected names that are there
 * (protected_paths.h), the common directory of a linked worktree (git_place.h), the options' denials
 * (fs_denials.h), what may be read (read_regions.h) and the sandbox's own folders (private_folders.h). A
 * denied path is what it leads to now and what it led to in earlier runs of the session. A deny entry that
 * this version cannot enforce is an error (ERROR_OPTIONS), so that nothing runs open. 0, or -1 with *out
 * empty.
 */
int fs_rules_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                     struct error *err);

void fs_rules_clear(struct fs_rules *rules);

/* --- for the files that make the rules --- */

/* Appends a rule, whose path is taken out of file. why is not copied. 0, or -1: out of memory. */
int fs_rules_push(struct fs_rules *rules, enum fs_rule_kind kind, struct resolved_path *file, const char *why,
                  struct error *err);

/* The same for a rule that the options do not name. */
int fs_rules_push_of(struct fs_rules *rules, enum fs_rule_kind kind, enum fs_rule_origin origin,
                     struct resolved_path *file, const char *why, struct error *err);

/* Appends a rule by name; the path is copied, why is not. What is there already is not appended again. */
int fs_rules_hold(struct fs_rules *rules, bool read, bool glob, const char *path, const char *why,
                  struct error *err);

/* Says of the rules behind the first so many ones that they come from there. */
void fs_rules_attribute(struct fs_rules *rules, size_t rule_count, size_t name_count,
                        struct fs_source source);

int fs_rules_warn(struct fs_rules *rules, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True where the real path lies in a write root of the run. */
bool fs_rules_is_writable(const struct fs_rules *rules, const char *path);

/* True where the way to the file leads through a symlink that a command can make or replace, or could have in
 * an earlier run. To be called when the write roots are in the memory. */
bool fs_may_be_planted(const struct resolved_path *file, const struct fs_place *place);

/* An entry's absolute path: "~" and "~/x" from home, relative ones from base. NULL: out of memory. The caller
 * frees. */
char *fs_entry_expand(const char *entry, const char *base, const char *home);

/* How much of an expanded entry was put before it: in there no character is special. */
size_t fs_entry_base(const char *entry, const char *base, const char *home);

#endif
