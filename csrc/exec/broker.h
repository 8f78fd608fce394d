/*
 * The calls that are notified, and who answers each. A broker makes a path call on its own copy of the path,
 * relative to O_PATH descriptors of folders in the run's root, with the command's rights (the same ids, no
 * capabilities) and its umask, once the rules (refusal.h) allow it; its result is the command's. So what is
 * reported as refused was refused. The kernel itself makes no name for a command, and opens nothing for
 * writing (landlock.h).
 */
#ifndef OS_SANDBOX_EXEC_BROKER_H
#define OS_SANDBOX_EXEC_BROKER_H

#include "exec/supervised.h"

/* The answer to any notified call; one that no broker knows goes on, but for those that send or connect. */
struct answer broker_answer(struct call *call);

/* Parts of it, by subject: each answers the numbers it knows (true), or leaves *answer alone. */
bool broker_open(struct call *call, struct answer *answer); /* open, openat, creat */
bool broker_names(struct call *call,
                  struct answer *answer); /* mkdir, mknod, symlink, link, rename, unlink, rmdir */
bool broker_objects(struct call *call,
                    struct answer *answer); /* truncate, chmod, chown, utimens, xattr; fchmod … */
bool broker_sockets(struct call *call, struct answer *answer); /* connect, bind, listen */
bool broker_sends(struct call *call, struct answer *answer);   /* sendto, sendmsg, sendmmsg */

#endif
