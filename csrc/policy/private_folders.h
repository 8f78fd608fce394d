/* Folders that are the sandbox's own, though they bear the names of the host's. */
#ifndef OS_SANDBOX_POLICY_PRIVATE_FOLDERS_H
#define OS_SANDBOX_POLICY_PRIVATE_FOLDERS_H

#include <stddef.h>

#include "policy/fs_rules.h"

/* Why a command may not write in npm's cache, or read it. */
#define WHY_PACKAGE_CACHE "npm's cache, see filesystem.packageCache (--package-cache)"

/*
 * Appends a rule for each temporary directory with privateTmp, and one for npm's cache with packageCache: a
 * copy of the host's, or an empty one where that holds something denied, which is said. A place that a
 * command could have made lead elsewhere is left out. And one for where the command starts, where that might
 * not be shown. The options' denials are the rules from first_denial up to last_denial. 0, or -1.
 */
int private_folders_resolve(const struct fs_options *options, const struct fs_place *place,
                            size_t first_denial, size_t last_denial, struct fs_rules *out, struct error *err);

#endif
