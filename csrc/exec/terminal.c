#include "exec/terminal.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/target.h"

/* The first of the eight majors of pseudo terminals, 256 of each (admin-guide/devices.txt). */
#define FIRST_MAJOR 136u
#define LAST_MAJOR 143u

/* tty_nr of proc_pid_stat(5), as new_encode_dev() writes it; 0: there is none. */
static dev_t number_of(const struct call *call) {
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)call->thread);
    cleanup_fd int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length <= 0 || !target_waits(call))
        return 0;
    text[length] = '\0';
    const char *behind_name = strrchr(text, ')');
    /* Behind the name: state, parent, group, session, terminal, each with a space before it. */
    const char *field = behind_name == NULL ? NULL : behind_name + 1;
    for (int i = 0; i < 4 && field != NULL; i++)
        field = strchr(field + 1, ' ');
    if (field == NULL)
        return 0;
    unsigned long number = strtoul(field, NULL, 10);
    return makedev((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
}

int terminal_of(const struct call *call) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT};
    char path[32];
    struct stat facts;
    dev_t device = number_of(call);
    if (major(device) < FIRST_MAJOR || major(device) > LAST_MAJOR)
        return -1;
    snprintf(path, sizeof path, "/dev/pts/%u", (major(device) - FIRST_MAJOR) * 256 + minor(device));
    cleanup_fd int fd = (int)syscall(SYS_openat2, call->supervisor->root, path, &how, sizeof how);
    bool same = fd >= 0 && fstat(fd, &facts) == 0 && S_ISCHR(facts.st_mode) && facts.st_rdev == device;
    return same ? steal_fd(&fd) : -1;
}
