/* Files of a git directory, which a command may have made anything of: no symlink is followed, nothing
 * blocks. */
#ifndef OS_SANDBOX_EXEC_GIT_CHECK_FILE_H
#define OS_SANDBOX_EXEC_GIT_CHECK_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/* A regular file to be read; -1 with errno, EINVAL: something else is there. */
int check_open_file(int folder, const char *name, struct stat *status);

/* All of it, with a NUL behind; NULL with errno, EFBIG: it is larger than the limit. The caller frees. */
char *check_read_file(int file, size_t limit, size_t *length);

#define CHECK_NEW ".os-sandbox-new"

/* A new file, of the old one's permissions and times, takes its name. 0 or errno. */
int check_replace_file(int folder, const char *name, const struct stat *old, const char *bytes,
                       size_t length);

/* For names that no command can have taken. */
unsigned long long check_random(void);

#endif
