/*
 * Closing a descriptor without waiting for what the kernel does then. The last close of an inotify instance
 * takes a grace period (fs/notify/mark.c), 10 ms and more; a process that has one open takes as long to exit.
 */
#ifndef OS_SANDBOX_EXEC_LET_GO_H
#define OS_SANDBOX_EXEC_LET_GO_H

/* Closes *fd and sets it to -1. Where the kernel does not take it off our hands it is closed as any other. */
void let_go(int *fd);

#endif
