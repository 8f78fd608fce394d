#include "exec/program.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What execvp(3) of glibc searches where PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

static const char *search_path(char *const *envp) {
    for (; *envp != NULL; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return DEFAULT_PATH;
}

/* execve, and as execvp(3) does, the shell for a file without a format. Returns errno. */
static int try_exec(const char *file, const struct payload *payload, char **shell_argv) {
    execve(file, payload->argv, payload->envp);
    if (errno == ENOEXEC) {
        shell_argv[1] = (char *)(uintptr_t)file;
        execve("/bin/sh", shell_argv, payload->envp);
    }
    return errno;
}

/* A folder of PATH that may not be searched hides nothing that could be run: it does not count, as in a
 * shell. */
static bool is_there(const char *file) {
    struct stat facts;
    return stat(file, &facts) == 0;
}

/* As execvp(3): EACCES is remembered, what is not there is passed over. Returns errno of the best failure. */
static int search_and_exec(const struct payload *payload, char **shell_argv) {
    const char *name = payload->argv[0];
    if (strchr(name, '/') != NULL)
        return try_exec(name, payload, shell_argv);
    if (name[0] == '\0')
        return ENOENT;
    int best = ENOENT;
    char file[4096];
    const char *next = search_path(payload->envp);
    while (next != NULL) {
        const char *folder = next;
        const char *end = strchrnul(folder, ':');
        next = *end == ':' ? end + 1 : NULL;
        int written = snprintf(file, sizeof file, "%.*s%s%s", (int)(end - folder), folder,
                               end == folder ? "" : "/", name);
        if (written < 0 || (size_t)written >= sizeof file)
            continue;
        int errnum = try_exec(file, payload, shell_argv);
        if (errnum != ENOENT && errnum != ENOTDIR && is_there(file))
            best = errnum;
        if (best != ENOENT && best != EACCES)
            return best;
    }
    return best;
}

#define KERNEL_SIGNALS 64

static void reset_signals(void) {
    /* By the kernel's call: the C library hides its own signals, which glibc's posix_spawn leaves ignored.
     * All zero: default. */
    const unsigned long action[8] = {0};
    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        syscall(SYS_rt_sigaction, number, action, NULL, KERNEL_SIGNALS / 8);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What Node may have raised since the agent started, the command gets as far as the agent's own limits reach.
 */
static int apply_limits(const struct payload *payload) {
    for (size_t i = 0; i < payload->limit_count; i++) {
        struct rlimit limit = {.rlim_cur = payload->limits[i].soft, .rlim_max = payload->limits[i].hard};
        struct rlimit own;
        int resource = (int)payload->limits[i].resource;
        if (getrlimit(resource, &own) != 0)
            return errno;
        if (limit.rlim_max > own.rlim_max)
            limit.rlim_max = own.rlim_max;
        if (limit.rlim_cur > limit.rlim_max)
            limit.rlim_cur = limit.rlim_max;
        if (limit.rlim_cur == own.rlim_cur && limit.rlim_max == own.rlim_max)
            continue;
        if (setrlimit(resource, &limit) != 0)
            return errno;
    }
    if (payload->nice > getpriority(PRIO_PROCESS, 0))
        setpriority(PRIO_PROCESS, 0, payload->nice);
    return 0;
}

struct start {
    const struct payload *payload;
    const struct group_signals *group_signals; /* or NULL */
    char **shell_argv;
    struct program_result result;
};

/* In the child, which shares this memory until exec: what it writes to the result, the parent sees. */
static int child_main(void *data) {
    struct start *start = data;
    const struct payload *payload = start->payload;
    if (start->group_signals == NULL)
        setsid();
    else
        group_signals_take_over(start->group_signals);
    reset_signals();
    umask((mode_t)payload->file_mode_mask);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int errnum = 0;
    enum program_failure failure = PROGRAM_NO_EXEC;
    if (chdir(payload->cwd) != 0) {
        errnum = errno;
        failure = PROGRAM_NO_CWD;
    } else if ((errnum = apply_limits(payload)) != 0) {
        failure = PROGRAM_NO_LIMIT;
    } else {
        errnum = search_and_exec(payload, start->shell_argv);
    }
    start->result = (struct program_result){.pid = -1, .failure = failure, .errnum = errnum};
    return 127;
}

#define CHILD_STACK_SIZE 65536

/*
 * By clone(2) and not vfork(3): not every C library has that for every processor, and some make it a plain
 * fork, after which a failure would not come back as plain data and the process group would not be there yet.
 */
static pid_t start_child(struct start *start) {
    char *stack =
        mmap(NULL, CHILD_STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    pid_t pid = clone(child_main, stack + CHILD_STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, start);
    int errnum = errno;
    munmap(stack, CHILD_STACK_SIZE);
    errno = errnum;
    return pid;
}

struct program_result program_start(const struct payload *payload,
                                    const struct group_signals *group_signals) {
    struct start start = {.payload = payload,
                          .group_signals = group_signals,
                          .shell_argv = calloc(payload->argc + 2, sizeof *start.shell_argv)};
    if (start.shell_argv == NULL)
        return (struct program_result){.pid = -1, .failure = PROGRAM_NO_FORK, .errnum = ENOMEM};
    start.shell_argv[0] = (char *)(uintptr_t) "/bin/sh";
    for (size_t i = 1; i < payload->argc; i++)
        start.shell_argv[i + 1] = payload->argv[i];
    pid_t pid = start_child(&start);
    if (pid < 0)
        start.result = (struct program_result){.failure = PROGRAM_NO_FORK, .errnum = errno};
    free(start.shell_argv);
    start.result.pid = start.result.failure == PROGRAM_STARTED ? pid : -1;
    return start.result;
}
