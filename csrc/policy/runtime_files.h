/* What programs need to be able to read in order to start, where reading is denied by default. */
#ifndef OS_SANDBOX_POLICY_RUNTIME_FILES_H
#define OS_SANDBOX_POLICY_RUNTIME_FILES_H

#include "policy/fs_rules.h"

/*
 * Appends a rule (FS_ALLOW_READ of FS_STRICT) for each row of the table that is there, for the installations
 * of node, python3 and git that the command's PATH leads to, and for the file of the command. What lies in a
 * place where commands write, or is reached through a symlink there, opens nothing. 0, or -1.
 */
int runtime_files_resolve(const struct fs_place *place, struct fs_rules *out, struct error *err);

#endif
