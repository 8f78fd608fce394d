/* What the files that write a profile share. */
#ifndef OS_SANDBOX_PLAN_SBPL_INTERNAL_H
#define OS_SANDBOX_PLAN_SBPL_INTERNAL_H

#include "plan/mount_plan.h"
#include "plan/sbpl.h"
#include "plan/sbpl_text.h"

struct sbpl_profile {
    const struct sbpl_request *request;
    const struct mount_plan *plan;
    bool strict; /* what no rule names cannot be read */
    struct sbpl_text text;
};

/* A file cannot be linked into a place where it may be written, or read, more than where it is. Who may not
 * write a socket may not reach it: what the rules for files say of sockets has to be said in those for the
 * network. */
#define SBPL_READ "file-read*"
#define SBPL_WRITE "file-write* file-link"
#define SBPL_DENY_WRITE "deny " SBPL_WRITE " network-bind network-outbound"
#define SBPL_DENY_ALL "deny " SBPL_READ " " SBPL_WRITE " network-bind network-outbound"

struct sbpl_rule sbpl_profile_rule(struct sbpl_profile *profile, const char *head);

/* Regions of the plan, devices, ancestors (sbpl_files.c). 0, or -1. */
int sbpl_add_files(struct sbpl_profile *profile, struct error *err);
/* Denials by name (sbpl_names.c). 0, or -1. */
int sbpl_add_names(struct sbpl_profile *profile, struct error *err);
void sbpl_add_protected(struct sbpl_profile *profile);
/* Ports, and unix sockets where commands make their own: before the rules for files, which close some of
 * those. */
void sbpl_add_network(struct sbpl_profile *profile);
/* Those that the options name, last (both sbpl_network.c). 0, or -1. */
int sbpl_add_allowed_sockets(struct sbpl_profile *profile, struct error *err);

#endif
