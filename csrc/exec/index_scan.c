#include "exec/index_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "exec/index_walk.h"

/* ioprio_set(2): IOPRIO_WHO_PROCESS, and IOPRIO_CLASS_IDLE where its number has the class. */
#define IO_OF_PROCESS 1
#define IO_IDLE (3 << 13)

#define AGAIN_AFTER_S 60
/* Roots of one session; beyond that the one that was scanned longest ago is forgotten. */
#define ROOTS_MAX 64

struct scanned_root {
    char *path;
    char *home; /* NULL: not known */
    uint64_t device;
    time_t ended; /* of its last scan, on the monotonic clock; 0: never */
    bool wanted;
};

struct index_scan {
    struct session_index *index;
    struct scanned_root roots[ROOTS_MAX];
    size_t count;
    pid_t child;    /* 0: none */
    size_t current; /* what the child walks */
};

static time_t monotonic_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

struct index_scan *index_scan_new(struct session_index *index) {
    struct index_scan *scan = calloc(1, sizeof *scan);
    if (scan != NULL)
        scan->index = index;
    return scan;
}

/* A run must not feel it. But it must come to an end while commands keep every processor busy: no SCHED_IDLE.
 */
static void step_back(void) {
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, IO_OF_PROCESS, 0, IO_IDLE);
}

static _Noreturn void child_main(struct session_index *index, const struct scanned_root *root, pid_t agent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != agent)
        _exit(1);
    syscall(SYS_close_range, 0u, ~0u, 0u);
    step_back();
    int folder = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        index_walk(index, folder, root->home);
    _exit(0);
}

/* Where no child can be forked now, the root stays wanted. */
static void start_next(struct index_scan *scan) {
    if (scan->child != 0)
        return;
    for (size_t i = 0; i < scan->count; i++) {
        struct scanned_root *root = &scan->roots[i];
        if (!root->wanted)
            continue;
        pid_t agent = getpid();
        pid_t pid = fork();
        if (pid == 0)
            child_main(scan->index, root, agent);
        if (pid < 0)
            return;
        root->wanted = false;
        scan->child = pid;
        scan->current = i;
        return;
    }
}

/* A walk does not leave its file system: a root on another one is not covered. */
static struct scanned_root *covering(struct index_scan *scan, const char *path, uint64_t device) {
    for (size_t i = 0; i < scan->count; i++)
        if (scan->roots[i].device == device && path_is_within(path, scan->roots[i].path))
            return &scan->roots[i];
    return NULL;
}

static bool is_current(const struct index_scan *scan, size_t i) {
    return scan->child != 0 && scan->current == i;
}

/* A place for another root; NULL: each is waiting. */
static struct scanned_root *free_place(struct index_scan *scan) {
    if (scan->count < ROOTS_MAX)
        return &scan->roots[scan->count++];
    struct scanned_root *oldest = NULL;
    for (size_t i = 0; i < scan->count; i++) {
        struct scanned_root *root = &scan->roots[i];
        if (!root->wanted && !is_current(scan, i) && (oldest == NULL || root->ended < oldest->ended))
            oldest = root;
    }
    if (oldest != NULL) {
        free(oldest->path);
        free(oldest->home);
    }
    return oldest;
}

static void add_root(struct index_scan *scan, const char *path, uint64_t device, const char *home) {
    char *copy = strdup(path);
    char *home_copy = home == NULL ? NULL : strdup(home);
    struct scanned_root *root = copy == NULL ? NULL : free_place(scan);
    if (root == NULL) {
        free(copy);
        free(home_copy);
        return;
    }
    *root = (struct scanned_root){.path = copy, .home = home_copy, .device = device, .wanted = true};
}

void index_scan_want(struct index_scan *scan, const char *path, uint64_t device, const char *home) {
    struct scanned_root *root = covering(scan, path, device);
    if (root == NULL)
        add_root(scan, path, device, home);
    else if (!is_current(scan, (size_t)(root - scan->roots)) && root->ended != 0 &&
             monotonic_seconds() - root->ended >= AGAIN_AFTER_S)
        root->wanted = true;
    start_next(scan);
}

void index_roots_wanted(struct index_scan *scan, const struct payload *payload) {
    const char *home = NULL;
    for (size_t i = 0; i < payload->envc; i++)
        if (strncmp(payload->envp[i], "HOME=/", 6) == 0)
            home = payload->envp[i] + 5;
    for (size_t i = 0; i < payload->mount_count; i++)
        if (payload->mounts[i].kind == MOUNT_WRITABLE)
            index_scan_want(scan, payload->mounts[i].path, payload->mounts[i].device, home);
}

bool index_scan_owns(const struct index_scan *scan, pid_t pid) {
    return scan->child != 0 && scan->child == pid;
}

bool index_scan_busy(const struct index_scan *scan) {
    return scan->child != 0;
}

void index_scan_reaped(struct index_scan *scan, pid_t pid) {
    if (!index_scan_owns(scan, pid))
        return;
    scan->child = 0;
    scan->roots[scan->current].ended = monotonic_seconds();
    start_next(scan);
}

pid_t index_scan_stop(struct index_scan *scan) {
    if (scan == NULL)
        return 0;
    pid_t child = scan->child;
    if (child != 0)
        kill(child, SIGKILL);
    for (size_t i = 0; i < scan->count; i++) {
        free(scan->roots[i].path);
        free(scan->roots[i].home);
    }
    free(scan);
    return child;
}
