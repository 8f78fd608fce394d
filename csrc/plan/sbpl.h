/*
 * A run's policy as a profile in SBPL, for sandbox-exec(1) of macOS. Pure: everything is resolved already, by
 * the same rules as on Linux.
 *
 * No Mac has run such a profile yet. What it says was judged by an evaluator of the language
 * (test/sbpl.test.js); that Seatbelt takes every word of it as that evaluator does, and that programs find
 * all they need, is to be seen.
 *
 * What it says otherwise than the mounts and the supervisor of Linux do:
 * - A profile knows names, not what is in a folder: a bare repository is held by its name (x.git) or where a
 * write root is one, and a repository that a command makes gets no config and no hooks, so git init and git
 * clone work with allowGitConfig and without templates alone.
 * - Making a folder and moving one into its place is the same for it: a folder that holds protected names
 *   (.claude, .config) cannot be made where it is missing. A .git can: what was moved there has to be looked
 * at when the run has ended.
 * - Names are compared without case everywhere, unless the caller says that the disks tell them apart.
 * - A link can be made to a file of a write root alone.
 */
#ifndef OS_SANDBOX_PLAN_SBPL_H
#define OS_SANDBOX_PLAN_SBPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "policy/fs_rules.h"
#include "policy/options.h"

struct sbpl_request {
    const struct options *options;
    const struct fs_rules *rules; /* fs_rules_resolve */
    const struct strvec *sockets; /* unix_sockets_resolve */
    const struct strvec
        *socket_folders; /* real paths: in those that are write roots commands may bind and reach
                            unix sockets, but for folders where those of others lie, too */
    const char *home;
    const char *account_home; /* or NULL */
    uint16_t proxy_port;      /* on the host's localhost; 0: there is no network */
    const char *tag;          /* stands in the log beside what is denied; or NULL */
    bool case_sensitive;      /* the disks tell Name from name */
};

/* *out is the text (the caller frees). 0, or -1: an entry that a profile cannot say is an ERROR_OPTIONS. */
int sbpl_from_policy(const struct sbpl_request *request, char **out, struct error *err);

#endif
