/* Mount points in a folder that the session's commands share: whatever they made of it meanwhile. */
#ifndef OS_SANDBOX_EXEC_PRIVATE_FOLDER_H
#define OS_SANDBOX_EXEC_PRIVATE_FOLDER_H

#include <stdbool.h>

/*
 * Opens (O_PATH) what the way, relative to an attached folder of the session's, leads to, by no symlink. What
 * is missing of it is made; each folder above is mounted onto itself, so that no command of this run moves
 * what will be mounted. -1 with errno.
 */
int private_folder_open(int tree, const char *way, bool directory);

/* Puts the symlink at `real` there, unless something has the name. 0, or -1 with errno. */
int private_folder_link(int tree, const char *way, const char *real);

#endif
