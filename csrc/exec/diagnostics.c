#include "exec/diagnostics.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

#define MOST 4096

int diagnostics_make(void) {
    int fd = memfd_create("os-sandbox-diagnostics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (ftruncate(fd, MOST) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0))
        close_fd(&fd);
    return fd;
}

void diagnostics_read(int fd, char *text, size_t size) {
    ssize_t got = fd < 0 ? 0 : pread(fd, text, size - 1, 0);
    size_t length = got < 0 ? 0 : strnlen(text, (size_t)got);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            text[i] = ' ';
}
