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
};

struct fs_rule {
    enum fs_rule_kind kind;
    char *path; /* normal, free of symlinks; owned */
    uint64_t device;
    uint64_t inode;
    bool directory;
    const char *why; /* it is denied, for a violation's line; NULL where it is allowed */
};

struct fs_rules {
    struct fs_rule *items;
    size_t count;
    size_t capacity;
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
    struct path_memory *memory; /* the session's */
};

/*
 * All rules of a run: write roots (write_roots.h), what is always denied, and the options' denials. A denied
 * path is what it leads to now and what it led to in earlier runs of the session. Deny entries that match
 * nothing make no rule. A deny entry that this version cannot enforce is an error (ERROR_OPTIONS), so that
 * nothing runs open. 0, or -1 with *out empty.
 */
int fs_rules_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                     struct error *err);

void fs_rules_clear(struct fs_rules *rules);

/* For write_roots.h: appends a rule, whose path is taken out of file; appends a warning. 0, or -1: out of
 * memory. why is not copied. */
int fs_rules_push(struct fs_rules *rules, enum fs_rule_kind kind, struct resolved_path *file, const char *why,
                  struct error *err);
int fs_rules_warn(struct fs_rules *rules, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An entry's absolute path: "~" and "~/x" from home, relative ones from base. NULL: out of memory. The caller
 * frees. */
char *fs_entry_expand(const char *entry, const char *base, const char *home);

#endif
