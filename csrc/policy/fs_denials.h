/* What the options and the defaults deny: entries resolved to files, patterns and names. */
#ifndef OS_SANDBOX_POLICY_FS_DENIALS_H
#define OS_SANDBOX_POLICY_FS_DENIALS_H

#include "policy/fs_rules.h"

/*
 * Appends, when the write roots are in *out already, what is always denied (kernel files, credentials) and
 * what the options deny. For each file that is there a rule; for each path in a write root, and each that the
 * options name, a rule by name; for each read-denied path that is not there an entry of later. An entry with
 * glob characters that no file is named after denies what matches it now by rules, and a pattern by name. 0,
 * or -1.
 */
int fs_denials_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                       struct error *err);

#endif
