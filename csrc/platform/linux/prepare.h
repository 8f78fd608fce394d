/* Everything about a run that can be done before it starts, on a thread of the pool: rules, plan, payload. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_PREPARE_H
#define OS_SANDBOX_PLATFORM_LINUX_PREPARE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strvec.h"
#include "plan/bwrap_args.h"
#include "platform/linux/find_control_group.h"
#include "policy/fs_rules.h"

struct prepare_request {
    const char *bwrap;
    struct bwrap_features features;
    const struct options *options;
    unsigned supervision_allowed; /* as much of enum supervision (exec/payload.h) as there can be */
    struct fs_place place;
    const char *cwd;    /* where the command starts; absolute */
    struct strvec argv; /* empty: a probe */
    struct strvec env;
    const struct strvec *own_env; /* the caller's own part of it */
    const char *proxy; /* URL of the explicit proxy, as a command reaches it; NULL: there is no network */
    bool every_client; /* clients that do not know of the proxy get through as well */
    const struct control_groups *control_groups; /* where the run's cgroup is made; may be NULL */
    bool own_proxy; /* the run's network is its own, and the proxy's listener is made in there */
};

/* What no write root may cover: /sys for everybody; for root, who owns what is in them, every file system of
 * the kernel's switches, wherever it is mounted. 0, or -1. */
int prepare_list_read_only(struct strvec *out, struct error *err);

/* The rules by name as the supervisor takes them, in the same order; strings stay the rules'. NULL: out of
 * memory. The caller frees. */
struct payload_rule *prepare_payload_rules(const struct fs_rules *rules);

/*
 * Resolves the rules with a command's rights, builds the plan and writes the payload to a memfd, at
 * *payload_fd (the caller closes). Warnings are appended to *warnings. TMPDIR, where it names no directory,
 * becomes /tmp; variables that lead to unix sockets out of reach are withheld, those that name a proxy are
 * set. 0, or -1 with *payload_fd -1.
 */
int prepare_run(struct prepare_request *request, int *payload_fd, struct strvec *warnings, struct error *err);

#endif
