/* network.allowUnixSockets, resolved for one run. Looks at the file system through platform/resolve.h. */
#ifndef OS_SANDBOX_POLICY_UNIX_SOCKETS_H
#define OS_SANDBOX_POLICY_UNIX_SOCKETS_H

#include "base/error.h"
#include "base/strvec.h"
#include "policy/fs_rules.h"
#include "policy/options.h"

/*
 * Appends what base/socket_list.h matches: an entry that exists is its real path, a folder with a slash
 * behind it; of another one the leading folders that exist are resolved, the rest stays as written, a glob
 * where it has its characters. Where symlinks were followed the entry stands there as it was written, too. An
 * entry that leads through a symlink which a command could have made is not followed: that is a warning. To
 * be called when the run's write roots are in place->memory. 0, or -1.
 */
int unix_sockets_resolve(const struct network_options *network, const struct fs_place *place,
                         struct strvec *out, struct strvec *warnings, struct error *err);

#endif
