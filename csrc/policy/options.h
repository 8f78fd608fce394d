/* The options document: what a caller of OsSandbox.start() asked for, parsed and validated. Pure: touches no
 * file. */
#ifndef OS_SANDBOX_POLICY_OPTIONS_H
#define OS_SANDBOX_POLICY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "policy/cost_limits.h"

struct fs_options {
    /* Entries as written (absolute, "~", "~/x" or relative); resolved when a run starts. */
    struct strvec allow_write;
    struct strvec deny_write;
    struct strvec deny_read;
    struct strvec allow_read;
    struct strvec allow_protected; /* each names a row of protected_names.h */
    char *default_read;            /* "allow", "deny", or NULL: "allow" */
    bool allow_git_config;
    bool writable_cwd;  /* the machine's cwd and the framework's task logs are write roots by themselves */
    bool private_tmp;   /* the temporary directories are one of the sandbox's own */
    bool package_cache; /* npm's cache is shown as a private copy */
};

#define NETWORK_TUNNELS_DEFAULT 1024u

struct network_options {
    /* Patterns as written; each was accepted by domain_pattern_parse. */
    struct strvec allowed_domains;
    struct strvec denied_domains;
    struct strvec allowed_ips; /* as written; each was accepted by address_pattern_parse */
    struct strvec allow_unix_sockets;
    char *upstream_proxy; /* as written (upstream_proxy_parse took it), "direct", or NULL: the host's own */
    uint32_t max_tunnels; /* 0: NETWORK_TUNNELS_DEFAULT */
    bool allow_local_binding;
    bool has_ask; /* the caller gave an onAskHost function; it stays on the JS side */
};

struct ignore_rule {
    char *command; /* "*" or a substring of the command */
    struct strvec lines;
};

struct options {
    struct fs_options fs;
    struct network_options network;
    struct cost_limits limits;
    bool monitor_violations;
    bool monitor_reads;
    char *violation_log; /* absolute, "~" or "~/x"; or NULL. It is one of fs.deny_write too */
    struct ignore_rule *ignore;
    size_t ignore_count;
};

/*
 * Parses and validates one JSON document (RFC 8259; duplicate keys and NUL in strings are refused).
 * On success *out owns everything and is released with options_free. On failure -1 and an ERROR_OPTIONS
 * whose text is "<option path>: expected …, found …"; nothing is left allocated.
 */
int options_parse(const char *json, size_t length, struct options **out, struct error *err);

void options_free(struct options *options);

/* True where only what is named may be read. */
bool fs_options_are_strict(const struct fs_options *options);

/* The rows of protected_names.h that allowProtected frees, as bits. */
uint64_t fs_options_freed_names(const struct fs_options *options);

/* The table of known keys as a JSON text for the JS side, which builds the document from it (caller frees;
 * NULL: no memory). */
char *options_schema_json(void);

#endif
