/* What may be read: filesystem.allowRead and filesystem.defaultRead. */
#ifndef OS_SANDBOX_POLICY_READ_REGIONS_H
#define OS_SANDBOX_POLICY_READ_REGIONS_H

#include "policy/fs_rules.h"

/*
 * When write roots and denials are in *out: a rule for each allowRead entry, or match of one; where
 * defaultRead is "deny", rules that close every folder of the root but the sandbox's own /dev and /proc, and
 * that open in there the write roots and what programs need to start (runtime_files.h); where that or
 * privateTmp would hide them, the sockets of allowUnixSockets. An entry that leads
 * through a symlink which a command could have made is not followed: that is a warning. 0, or -1.
 */
int read_regions_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                         struct error *err);

#endif
