#include "exec/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The value of a line "Name:\t1\t2\t3": the last number, which is that of the innermost namespace. */
static bool last_number(const char *line, const char *name, int base, long *out) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0)
        return false;
    char *end = NULL;
    for (const char *at = line + length;; at = end) {
        long number = strtol(at, &end, base);
        if (end == at)
            return true;
        *out = number;
    }
}

/* A name has its newlines escaped (fs/proc/array.c): it makes up no line. True: all is known. */
static bool take_line(const char *line, struct proc_status *out) {
    long number = 0;
    if (last_number(line, "Umask:", 8, &number))
        out->mask = (mode_t)number;
    else if (last_number(line, "Tgid:", 10, &number))
        out->process = (pid_t)number;
    else if (last_number(line, "NStgid:", 10, &number))
        out->inner_process = (pid_t)number;
    else if (last_number(line, "NSpid:", 10, &number))
        out->inner_thread = (pid_t)number;
    return out->inner_thread != 0;
}

int proc_status_read(int folder, const char *path, struct proc_status *out) {
    *out = (struct proc_status){0};
    cleanup_fd int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? ESRCH : errno;
    FILE *file = fdopen(fd, "r");
    if (file == NULL)
        return errno;
    steal_fd(&fd);
    cleanup_free char *line = NULL;
    size_t capacity = 0;
    bool complete = false;
    while (!complete && getline(&line, &capacity, file) >= 0)
        complete = take_line(line, out);
    fclose(file);
    return complete ? 0 : ESRCH;
}

int proc_status_of(pid_t thread, struct proc_status *out) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    return proc_status_read(AT_FDCWD, path, out);
}
