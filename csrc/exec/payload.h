/*
 * The payload of one run: everything its launch and its stage need, in one memfd. The addon writes it, the
 * launched child and the stage read it in place. Layout: header, then tagged by order; strings are u32
 * length, bytes, NUL.
 */
#ifndef OS_SANDBOX_EXEC_PAYLOAD_H
#define OS_SANDBOX_EXEC_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "plan/mount_kind.h"
#include "policy/cost_limits.h"

struct payload_mount {
    uint32_t kind;   /* enum mount_kind */
    uint64_t device; /* of the planned file, as st_dev */
    uint64_t inode;
    const char *path;
};

/* A denial that the supervisor holds, by name; what is there at the start is mounted as well. */
struct payload_rule {
    uint32_t kind;    /* enum payload_rule_kind */
    uint32_t glob;    /* the path is a pattern of base/glob.h; else it is real as far as it exists */
    const char *path; /* absolute; the rule holds for everything below it, too */
    const char *why;
};

enum payload_rule_kind {
    PAYLOAD_DENY_WRITE,
    PAYLOAD_DENY_READ, /* and with it writing */
};

struct payload_limit {
    uint32_t resource;
    uint64_t soft;
    uint64_t hard;
};

#define PAYLOAD_LIMITS_MAX 32

/* What the run's supervisor does; 0: there is none, only the static filter. */
enum supervision {
    SUPERVISE_FILTER = 1u << 0,     /* the supervisor makes what has a socket's address */
    SUPERVISE_PATHS = 1u << 1,      /* and what changes files */
    SUPERVISE_READS = 1u << 2,      /* opens for reading are looked at, too */
    SUPERVISE_OPTIONAL = 1u << 3,   /* a probe: what cannot be had here is told, and no failure */
    SUPERVISE_UNFILTERED = 1u << 4, /* this kernel has no filters either */
    SUPERVISE_QUIETLY = 1u << 5,    /* nothing is reported */
    SUPERVISE_LISTENS = 1u << 6,    /* listen(2) is seen, and told to the addon */
};

/* Why a path is denied, as a violation says it. */
struct payload_reason {
    const char *path; /* real; the rule holds for everything below it, the longest one counts */
    const char *why;
};

struct payload {
    const char *bwrap; /* absolute path */
    const char *cwd;
    char **argv; /* NULL-terminated; empty: a probe, the stage ends with 0 after the mount checks */
    char **envp;
    size_t argc;
    size_t envc;
    uint32_t file_mode_mask; /* umask */
    int32_t nice;
    struct payload_limit limits[PAYLOAD_LIMITS_MAX];
    size_t limit_count;
    struct cost_limits cost;      /* what limits comes from, for those who see or count it */
    const char *group_parent;     /* the cgroup in which the agent makes the run's own; "": none */
    uint64_t group_processes;     /* how many may be in that one anyway; 0: any number */
    struct payload_mount *mounts; /* the plan, parents before what lies below them */
    size_t mount_count;
    uint32_t root_writable; /* a write root is "/" itself */
    char **read_denied;     /* the options' entries, expanded: what they lead to must be masked, */
    char **write_denied;    /* or at least read-only */
    size_t read_denied_count;
    size_t write_denied_count;
    uint32_t supervision; /* enum supervision */
    uint32_t own_proxy; /* not 0: the run's network is its own; the stage opens the proxy's listener there */
    struct payload_reason *reasons;
    size_t reason_count;
    struct payload_rule *rules;
    size_t rule_count;
    char **opened; /* what may be read, and written where that is granted, though a rule that denies reading
                      holds for a folder above it; real */
    size_t opened_count;
    uint64_t freed_names; /* rows of policy/protected_names.h that allowProtected frees, as bits */
    uint32_t allow_git_config;
    const char
        *common_dir; /* of the linked worktree at the cwd: what a commit needs of it may be written; "" */
    const char *worktree; /* that one's name below common_dir/worktrees; "" */
    struct payload_mount
        *later; /* masks for denied paths that are not there yet; device and inode mean nothing */
    size_t later_count;
    char **unix_sockets; /* where a command may connect: absolute paths, folders, or globs (base/glob.h) */
    size_t unix_socket_count;
    uint32_t mask_count;   /* how many descriptors from LAUNCH_FD_FIRST_MASK on bwrap wants */
    const char *arguments; /* bwrap's, NUL-separated, up to the end of the payload */
    size_t arguments_size;
    size_t arguments_offset; /* decoded only */
};

/* Encodes into one block of *size bytes (caller frees). NULL: out of memory or more than 4 GiB. */
void *payload_encode(const struct payload *payload, size_t *size);

/*
 * Decodes in place: strings point into data, arrays are allocated (payload_release frees them). 0, or -1
 * where the data is cut, has a foreign version, a string without its NUL, or bytes that nothing owns; *out is
 * then empty.
 */
int payload_decode(const void *data, size_t size, struct payload *out);

void payload_release(struct payload *payload);

#endif
