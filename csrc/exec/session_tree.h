/* The session's tree: the host's with a /dev of its own, made once; what every run's mounts are copies of. */
#ifndef OS_SANDBOX_EXEC_SESSION_TREE_H
#define OS_SANDBOX_EXEC_SESSION_TREE_H

/* Empty, without permissions, on a read-only mount: what is mounted over a denied directory or file. */
#define SESSION_MASK_DIR "/dev/shm/directory"
#define SESSION_MASK_FILE "/dev/shm/file"

/* A volume of the session's own, which goes with it: what its runs share, and nobody else sees. */
#define SESSION_PRIVATE "/dev/shm/private"
#define SESSION_PRIVATE_TMP SESSION_PRIVATE "/tmp"

/*
 * Makes this mount namespace nosuid and nodev, and puts a minimal, read-only /dev over its own: the nodes
 * that every program expects, a devpts, and at /dev/shm, where every run mounts its own, the masks and the
 * session's volume. In a fresh mount namespace of a user namespace only. 0, or -1 with errno and the
 * namespace in any state.
 */
int session_tree_make(void);

#endif
