/* What bwrap says on its stderr, kept until somebody wants to know. */
#ifndef OS_SANDBOX_EXEC_DIAGNOSTICS_H
#define OS_SANDBOX_EXEC_DIAGNOSTICS_H

#include <stddef.h>

/* A file that holds so much and no more, whoever writes: nobody has to read it meanwhile. -1 with errno. */
int diagnostics_make(void);

/* As one line of printable text; of no file (-1) an empty one. */
void diagnostics_read(int fd, char *text, size_t size);

#endif
