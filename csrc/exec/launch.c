#include "exec/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/payload.h"
#include "exec/run_mounts.h"
#include "exec/session_cache.h"

static _Noreturn void fail(const char *step, int errnum) {
    dprintf(LAUNCH_FD_DIAGNOSTICS, "%s: %s\n", step, strerror(errnum));
    _exit(125);
}

/*
 * Puts every descriptor at its number in enum launch_fd, bwrap's own file behind them. Sources are lifted
 * above all targets first, so that none is overwritten before it was copied.
 */
static int place_descriptors(const struct launch *launch, const struct payload *payload, int *bwrap) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int first_free = LAUNCH_FD_FIRST_MASK + (int)payload->mask_count;
    const struct {
        int source;
        int target;
    } fixed[] = {
        {null, 0},
        {null, 1},
        {launch->start_fds[START_FD_PAYLOAD], LAUNCH_FD_ARGUMENTS},
        {launch->control, LAUNCH_FD_CONTROL},
        {launch->helper, LAUNCH_FD_HELPER},
        {launch->supervisor >= 0 ? launch->supervisor : null, LAUNCH_FD_SUPERVISOR},
        {launch->start_fds[START_FD_STDIN], LAUNCH_FD_STDIN},
        {launch->start_fds[START_FD_STDOUT], LAUNCH_FD_STDOUT},
        {launch->start_fds[START_FD_STDERR], LAUNCH_FD_STDERR},
        {launch->start_fds[START_FD_PAYLOAD], LAUNCH_FD_PAYLOAD},
        {*bwrap, first_free},
    };
    enum { FIXED = sizeof fixed / sizeof fixed[0] };
    int lifted[FIXED];
    for (int i = 0; i < FIXED; i++)
        if ((lifted[i] = fcntl(fixed[i].source, F_DUPFD_CLOEXEC, first_free + 1)) < 0)
            return errno;
    for (int i = 0; i < FIXED; i++)
        if (dup2(lifted[i], fixed[i].target) < 0)
            return errno;
    for (int target = LAUNCH_FD_FIRST_MASK; target < first_free; target++)
        if (dup2(0, target) < 0)
            return errno;
    *bwrap = first_free;
    if (fcntl(first_free, F_SETFD, FD_CLOEXEC) != 0 ||
        syscall(SYS_close_range, (unsigned)first_free + 1, ~0u, 0u) != 0)
        return errno;
    return 0;
}

/*
 * A mount namespace of the run's own, to which nothing is propagated: what the host mounts meanwhile would
 * arrive writable and with its devices.
 */
static int unshare_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 ? mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) : -1;
}

/* A run without it is better than none: it is only told. */
static void make_caches(const struct launch *launch, const struct payload *payload) {
    struct stage_event event = {.type = STAGE_EMPTY_CACHE};
    if (session_cache_make(payload, event.text, sizeof event.text) != 0)
        send(launch->control, &event, offsetof(struct stage_event, text) + strlen(event.text) + 1,
             MSG_NOSIGNAL);
}

/*
 * What is sent to the group is for the command. Blocked and not ignored: the stage, which inherits that, sees
 * what came before there was one. SIGCHLD is bwrap's.
 */
static int join_group(pid_t group) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    return sigprocmask(SIG_SETMASK, &all, NULL) == 0 ? setpgid(0, group) : -1;
}

/*
 * bwrap gets nothing from the command's environment or words: a variable such as LD_PRELOAD must not act
 * outside the sandbox, and every local user can read its arguments.
 */
static _Noreturn void child_main(const struct launch *launch) {
    dup2(launch->diagnostics, LAUNCH_FD_DIAGNOSTICS);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (launch->group > 0 && join_group(launch->group) != 0)
        fail("joining the process group of the command line", errno);
    struct stat facts;
    int fd = launch->start_fds[START_FD_PAYLOAD];
    void *data = MAP_FAILED;
    struct payload payload;
    if (fstat(fd, &facts) == 0 && facts.st_size > 0)
        data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED || payload_decode(data, (size_t)facts.st_size, &payload) != 0)
        fail("reading the payload", EPROTO);
    /* By the rights of who opened it. */
    if (launch->control_group >= 0 && write(launch->control_group, "0", 1) != 1)
        fail("entering a cgroup", errno);
    int errnum = launch->namespaces != NULL ? session_namespaces_enter(launch->namespaces) : 0;
    if (errnum != 0)
        fail("entering the session's namespaces", errnum);
    if (launch->mount_plan)
        make_caches(launch, &payload);
    if (launch->namespaces != NULL && unshare_mounts() != 0)
        fail("making a mount namespace", errno);
    /* Its name may be covered by the plan. */
    int bwrap = open(payload.bwrap, O_PATH | O_CLOEXEC);
    if (bwrap < 0)
        fail(payload.bwrap, errno);
    char text[AGENT_TEXT_MAX];
    if (launch->mount_plan && run_mounts_make(&payload, text, sizeof text) != 0) {
        dprintf(LAUNCH_FD_DIAGNOSTICS, "%s\n", text);
        _exit(125);
    }
    if ((errnum = place_descriptors(launch, &payload, &bwrap)) != 0)
        fail("placing descriptors", errnum);
    /* bwrap reads --args from the descriptor's offset on. */
    if (lseek(LAUNCH_FD_ARGUMENTS, (off_t)payload.arguments_offset, SEEK_SET) < 0)
        fail("seeking the arguments", errno);
    char words[][sizeof LAUNCH_HELPER_PATH] = {"bwrap", "--args",    "3", "--", LAUNCH_HELPER_PATH,
                                               "stage", "foreground"};
    char *const argv[] = {
        words[0], words[1], words[2], words[3], words[4], words[5], launch->group > 0 ? words[6] : NULL,
        NULL};
    char *const envp[] = {NULL};
    execve(payload.bwrap, argv, envp);
    syscall(SYS_execveat, bwrap, "", argv, envp, AT_EMPTY_PATH);
    fail(payload.bwrap, errno);
}

pid_t launch_run(const struct launch *launch) {
    pid_t pid = fork();
    if (pid == 0)
        child_main(launch);
    return pid;
}
