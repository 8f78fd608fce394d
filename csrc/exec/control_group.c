#include "exec/control_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PREFIX "os-sandbox-"
#define FOLDER_MODE 0755
#define NAMES_MAX 1000u

/* bwrap and the stage are in the group, too. */
#define OWN_PROCESSES 2u

static int write_text(int folder, const char *name, const char *text) {
    cleanup_fd int fd = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t length = strlen(text);
    if (fd < 0)
        return -1;
    return write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

static int write_number(int folder, const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return write_text(folder, name, text);
}

int control_group_limit(int folder, const struct cost_limits *limits, uint64_t processes) {
    uint64_t memory = limits->most[COST_MEMORY];
    uint64_t wanted = limits->most[COST_PROCESSES];
    if (memory != 0 && write_number(folder, "memory.max", memory) != 0)
        return -1;
    /* What does not fit must not go to the disk instead. A kernel without swap has no such file. */
    if (memory != 0 && write_text(folder, "memory.swap.max", "0") != 0 && errno != ENOENT)
        return -1;
    if (wanted != 0 && (processes == 0 || wanted + OWN_PROCESSES < processes))
        processes = wanted + OWN_PROCESSES;
    return processes == 0 ? 0 : write_number(folder, "pids.max", processes);
}

/* The number of a line "NAME NUMBER" in a file of such lines; 0: there is none. */
static uint64_t read_field(int folder, const char *file, const char *field) {
    char text[4096] = "";
    cleanup_fd int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = '\0';
    size_t length = strlen(field);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, field, length) == 0 && line[length] == ' ')
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

void control_group_read(int folder, struct group_usage *out) {
    out->cpu_us = read_field(folder, "cpu.stat", "usage_usec");
    out->out_of_memory = read_field(folder, "memory.events", "oom_kill") > 0;
    out->out_of_pids = read_field(folder, "pids.events", "max") > 0;
}

/* The folder with its lock; -1: it is somebody's, or gone. */
static int hold(int parent, const char *name) {
    struct stat held;
    struct stat named;
    cleanup_fd int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) != 0 || fstat(folder, &held) != 0 ||
        fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || held.st_ino != named.st_ino)
        return -1;
    return steal_fd(&folder);
}

void control_groups_sweep(int parent) {
    cleanup_fd int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL)
        return;
    steal_fd(&fd);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        cleanup_fd int held = hold(parent, entry->d_name);
        if (held >= 0)
            unlinkat(parent, entry->d_name, AT_REMOVEDIR); /* not one that still has processes */
    }
    closedir(folder);
}

/* Under a name that is free: the pid may have been another's, in whose place nobody swept. */
static int make_folder(struct control_group *group) {
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        snprintf(group->name, sizeof group->name, PREFIX "%d-%u", (int)getpid(), i);
        if (mkdirat(group->parent, group->name, FOLDER_MODE) != 0) {
            if (errno == EEXIST)
                continue;
            return -1;
        }
        /* Somebody may sweep right now. */
        if ((group->folder = hold(group->parent, group->name)) >= 0)
            return 0;
    }
    errno = EEXIST;
    return -1;
}

int control_group_make(const char *parent, const struct cost_limits *limits, uint64_t processes,
                       struct control_group *out) {
    *out = (struct control_group)CONTROL_GROUP_NONE;
    out->parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->parent < 0)
        return -1;
    control_groups_sweep(out->parent);
    if (make_folder(out) == 0 && control_group_limit(out->folder, limits, processes) == 0)
        return 0;
    int errnum = errno;
    control_group_remove(out);
    errno = errnum;
    return -1;
}

int control_group_door(const struct control_group *group) {
    return openat(group->folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
}

void control_group_remove(struct control_group *group) {
    if (group->folder >= 0)
        unlinkat(group->parent, group->name, AT_REMOVEDIR);
    close_fd(&group->folder);
    close_fd(&group->parent);
}
