#include "exec/run_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A procfs in which this process has no number is that of the namespace below, which has the run alone. */
static bool is_of_the_run(int folder) {
    struct statfs volume;
    char self[32];
    return fstatfs(folder, &volume) == 0 && volume.f_type == PROC_SUPER_MAGIC &&
           readlinkat(folder, "self", self, sizeof self) < 0 && errno == ENOENT;
}

int run_processes_open(pid_t stage, struct run_processes *out) {
    char path[64];
    struct stat facts;
    *out = (struct run_processes){.procfs = -1};
    snprintf(path, sizeof path, "/proc/%d/root/proc", (int)stage);
    cleanup_fd int inner = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inner >= 0 && is_of_the_run(inner)) {
        out->procfs = steal_fd(&inner);
        return 0;
    }
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)stage);
    if (stat(path, &facts) != 0)
        return -1;
    out->namespace = facts.st_ino;
    out->procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return out->procfs < 0 ? -1 : 0;
}

void run_processes_close(struct run_processes *processes) {
    close_fd(&processes->procfs);
}

/* Of a name in a folder, and the longest that is put behind it. */
#define ENTRY_PATH_MAX (NAME_MAX + 16)

static bool is_wanted(const struct run_processes *processes, const char *name) {
    char path[ENTRY_PATH_MAX];
    struct stat facts;
    if (name[0] < '0' || name[0] > '9' || strlen(name) > 20)
        return false;
    if (processes->namespace == 0)
        return true;
    snprintf(path, sizeof path, "%s/ns/pid", name);
    return fstatat(processes->procfs, path, &facts, 0) == 0 && facts.st_ino == processes->namespace;
}

/* Its folder of threads has a link for each, besides the usual two (proc_task_getattr() of fs/proc/base.c).
 */
static uint64_t threads_of(int procfs, const char *name) {
    char path[ENTRY_PATH_MAX];
    struct stat facts;
    snprintf(path, sizeof path, "%s/task", name);
    return fstatat(procfs, path, &facts, 0) == 0 && facts.st_nlink > 2 ? facts.st_nlink - 2 : 0;
}

/* The 14th to the 17th field: utime, stime, cutime, cstime. The second is a name, which may hold anything. */
#define FIELDS_BEFORE_TIMES 12

static uint64_t ticks_of(int procfs, const char *name) {
    char text[1024];
    snprintf(text, sizeof text, "%s/stat", name);
    cleanup_fd int fd = openat(procfs, text, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < FIELDS_BEFORE_TIMES; i++)
        at = strchr(at + 1, ' ');
    uint64_t sum = 0;
    for (int i = 0; at != NULL && i < 4; i++) {
        char *end;
        sum += strtoull(at, &end, 10);
        at = end;
    }
    return sum;
}

int run_processes_read(const struct run_processes *processes, struct run_usage *out) {
    *out = (struct run_usage){0};
    /* Not a duplicate, which would share its position with other readers. */
    cleanup_fd int fd = openat(processes->procfs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL)
        return -1;
    steal_fd(&fd);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!is_wanted(processes, entry->d_name))
            continue;
        out->tasks += threads_of(processes->procfs, entry->d_name);
        out->cpu_ticks += ticks_of(processes->procfs, entry->d_name);
    }
    closedir(folder);
    return 0;
}
