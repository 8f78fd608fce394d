#include "platform/linux/find_control_group.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

/* /proc/self/mountinfo of a host with many containers. */
#define FILE_MAX ((size_t)4 << 20)

/* What groups need, by the kernel's name. Processor time is counted in any group; that one controller is
 * there is the sign that it was delegated. */
static const struct {
    enum cost_limit limit;
    const char *controller;
} needs[] = {{COST_MEMORY, "memory"}, {COST_PROCESSES, "pids"}, {COST_CPU, "pids"}};
#define NEEDS (sizeof needs / sizeof needs[0])

bool control_group_helps(const struct cost_limits *limits) {
    for (size_t i = 0; i < NEEDS; i++)
        if (limits->most[needs[i].limit] != 0)
            return true;
    return false;
}

/* The text of a file (the caller frees), or NULL. */
static char *read_file(const char *path) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup_free char *text = NULL;
    size_t size = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && size < FILE_MAX) {
        char *longer = realloc(text, size + 65536 + 1);
        if (longer == NULL)
            return NULL;
        text = longer;
        got = read(fd, text + size, 65536);
        size += got > 0 ? (size_t)got : 0;
    }
    if (got < 0 || text == NULL)
        return NULL;
    text[size] = '\0';
    char *result = text;
    text = NULL;
    return result;
}

/* Has the word in a list that spaces and newlines separate. */
static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0';) {
        at += strspn(at, " \n");
        size_t here = strcspn(at, " \n");
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

/* NULL: there is no such file. The caller frees. */
static char *read_in(const char *folder, const char *file) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length < 0 || (size_t)length >= sizeof path ? NULL : read_file(path);
}

static bool folder_has(const char *folder, const char *file, const char *word) {
    cleanup_free char *text = read_in(folder, file);
    return text != NULL && has_word(text, word);
}

/* The path behind "0::" (cgroups(7)); it ends at the line's end. */
static const char *own_path(const char *cgroup, size_t *length) {
    for (const char *line = cgroup; line != NULL && *line != '\0';) {
        *length = strcspn(line, "\n");
        if (*length > 3 && strncmp(line, "0::/", 4) == 0) {
            *length -= 3;
            return line + 3;
        }
        line += *length;
        line += *line == '\n';
    }
    return NULL;
}

/* The octal escapes of a path in mountinfo. In place. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        bool escaped = from[0] == '\\' && strspn(from + 1, "01234567") >= 3;
        *to = escaped ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
        from += escaped ? 4 : 1;
    }
    *to = '\0';
}

/* A line's 4th and 5th field, which is of type cgroup2: what of the hierarchy is mounted, and where. */
static bool mount_of(const char *line, size_t length, char *root, char *point) {
    char text[2 * PATH_MAX + 512];
    if (length >= sizeof text)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    const char *type = strstr(text, " - ");
    if (type == NULL || strncmp(type, " - cgroup2 ", strlen(" - cgroup2 ")) != 0 ||
        sscanf(text, "%*s %*s %*s %4095s %4095s", root, point) != 2)
        return false;
    unescape(root);
    unescape(point);
    return true;
}

/* Where the path is seen below the mount; false: not at all. */
static bool place_in(const char *path, const char *root, const char *point, char **own) {
    const char *rest = strcmp(root, "/") == 0 ? path : path + strlen(root);
    if (!path_is_within(path, root) || strstr(path, "/..") != NULL)
        return false;
    return asprintf(own, "%s%s", point, strcmp(rest, "/") == 0 ? "" : rest) >= 0;
}

int control_group_own(const char *cgroup, const char *mountinfo, char **own, char **top, struct error *err) {
    char root[PATH_MAX];
    char point[PATH_MAX];
    size_t length = 0;
    *own = *top = NULL;
    const char *found = own_path(cgroup, &length);
    cleanup_free char *path = found == NULL ? NULL : strndup(found, length);
    if (path == NULL)
        return error_set(err, ERROR_HOST, 0, "this process is in no cgroup of version 2");
    for (const char *line = mountinfo; *line != '\0';) {
        length = strcspn(line, "\n");
        if (mount_of(line, length, root, point) && place_in(path, root, point, own)) {
            *top = strdup(point);
            return *top != NULL ? 0 : error_memory(err);
        }
        line += length;
        line += *line == '\n';
    }
    return error_set(err, ERROR_HOST, 0, "no cgroup of version 2 is mounted that has this process");
}

static bool is_writable(const char *folder) {
    char procs[PATH_MAX];
    int length = snprintf(procs, sizeof procs, "%s/cgroup.procs", folder);
    return length > 0 && (size_t)length < sizeof procs &&
           faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0 &&
           faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) == 0;
}

/* What the limits need and groups in the folder do not get; NULL: nothing. It is not switched on: the folder
 * is not ours. */
static const char *missing_in(const char *folder, const struct cost_limits *limits, uint64_t processes) {
    const char *const file = "cgroup.subtree_control";
    for (size_t i = 0; i < NEEDS; i++)
        if (limits->most[needs[i].limit] != 0 && !folder_has(folder, file, needs[i].controller))
            return needs[i].controller;
    return processes != 0 && !folder_has(folder, file, "pids") ? "pids" : NULL;
}

/* Limits that a command would leave with the group they are of. */
static const char *const own_limits[] = {"memory.max", "memory.high", "memory.swap.max", "cpu.max"};

static const char *limit_of(const char *folder) {
    for (size_t i = 0; i < sizeof own_limits / sizeof own_limits[0]; i++) {
        cleanup_free char *text = read_in(folder, own_limits[i]);
        if (text != NULL && strncmp(text, "max", 3) != 0)
            return own_limits[i];
    }
    return NULL;
}

/* systemd gives every unit such a limit: it is taken along. */
static uint64_t lower_processes(const char *folder, uint64_t processes) {
    cleanup_free char *text = read_in(folder, "pids.max");
    uint64_t most = text == NULL ? 0 : strtoull(text, NULL, 10);
    return most != 0 && (processes == 0 || most < processes) ? most : processes;
}

/* False, with *err: no folder from here on will do. */
static bool can_go_up(char *folder, struct error *err) {
    const char *limit = limit_of(folder);
    char *slash = strrchr(folder, '/');
    if (limit != NULL) {
        error_set(err, ERROR_HOST, 0,
                  "the cgroup %s has a limit of its own (%s), which a command would leave", folder, limit);
        return false;
    }
    if (slash == NULL || slash == folder)
        return false;
    *slash = '\0';
    return true;
}

int control_group_search(const char *own, const char *top, const struct cost_limits *limits,
                         struct control_groups *out, struct error *err) {
    cleanup_free char *folder = strdup(own);
    uint64_t processes = 0;
    if (folder == NULL)
        return error_memory(err);
    error_set(err, ERROR_HOST, 0, "no cgroup is delegated to this user: %s is not writable", own);
    while (path_is_within(folder, top) && is_writable(folder)) {
        const char *missing = missing_in(folder, limits, processes);
        if (missing == NULL) {
            *out = (struct control_groups){.folder = folder, .processes = processes};
            folder = NULL;
            return 0;
        }
        error_set(err, ERROR_HOST, 0, "the cgroup %s has no %s controller to pass on", folder, missing);
        processes = lower_processes(folder, processes);
        if (!can_go_up(folder, err))
            break;
    }
    return -1;
}

int find_control_groups(const struct cost_limits *limits, struct control_groups *out, struct error *err) {
    cleanup_free char *cgroup = read_file("/proc/self/cgroup");
    cleanup_free char *mountinfo = read_file("/proc/self/mountinfo");
    cleanup_free char *own = NULL;
    cleanup_free char *top = NULL;
    if (cgroup == NULL || mountinfo == NULL)
        return error_set(err, ERROR_HOST, 0, "/proc/self does not tell of cgroups");
    if (control_group_own(cgroup, mountinfo, &own, &top, err) != 0 || own == NULL)
        return -1;
    return control_group_search(own, top, limits, out, err);
}
