/* The session's /dev: made once, bound by every run instead of a dozen mounts of its own. */
#ifndef OS_SANDBOX_EXEC_SESSION_DEV_H
#define OS_SANDBOX_EXEC_SESSION_DEV_H

/*
 * Puts a minimal, read-only /dev over the one of this mount namespace: the nodes that every program expects, a devpts of
 * its own, an empty /dev/shm to mount on. In a fresh mount namespace of a user namespace only. 0, or -1 with errno and
 * the namespace in any state. Needs open_tree (Linux 5.2) and mount_setattr (5.12).
 */
int session_dev_mount(void);

#endif
