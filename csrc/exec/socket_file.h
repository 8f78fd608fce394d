/* Unix sockets in the file system: which of them a command may reach. */
#ifndef OS_SANDBOX_EXEC_SOCKET_FILE_H
#define OS_SANDBOX_EXEC_SOCKET_FILE_H

#include "exec/supervised.h"

/*
 * Looks for the socket at a path of the command. 0: it was made inside, or is one of the run's list; *object
 * is an O_PATH descriptor of its file, the caller's. Else the errno of the answer: what the kernel would say
 * where there is none, EACCES for a socket of the host, which is reported.
 */
int socket_file_judge(struct call *call, const char *path, int *object);

#endif
