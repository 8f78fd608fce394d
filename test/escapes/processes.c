/*
 * A process that is not ours: its memory, its descriptors, its files, its limits. Argument: a pid, or "child"
 * for one that the program makes, which shows that the attacks work.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static char word[8] = "memory";

static void trace(pid_t pid) {
    report("ptrace seize", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0) {
        waitpid(pid, NULL, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    }
    long attached = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
    report("ptrace attach", attached);
    if (attached == 0) {
        waitpid(pid, NULL, __WALL);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    }
}

static void memory(pid_t pid) {
    char copy[sizeof word];
    struct iovec here = {.iov_base = copy, .iov_len = sizeof copy};
    /* A child of ours has the word at the same address; for others any refusal but EFAULT is what is looked
     * for. */
    struct iovec there = {.iov_base = word, .iov_len = sizeof word};
    report("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0));
    here.iov_base = word;
    report("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0));
}

static void open_in_proc(pid_t pid, const char *name, int flags) {
    char path[64];
    char text[96];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    snprintf(text, sizeof text, "open %s%s", name, flags == O_RDWR ? " for writing" : "");
    report(text, open(path, flags));
}

static void files(pid_t pid) {
    static const char *const names[] = {"mem",     "exe",  "root",    "cwd",    "maps",
                                        "environ", "auxv", "pagemap", "ns/mnt", "ns/net"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        open_in_proc(pid, names[i], O_RDONLY);
    open_in_proc(pid, "mem", O_RDWR);
}

static void descriptors(pid_t pid) {
    long handle = syscall(SYS_pidfd_open, pid, 0);
    int got = -1;
    int errnum = errno;
    for (int fd = 0; handle >= 0 && got < 0 && fd < 64; fd++) {
        got = (int)syscall(SYS_pidfd_getfd, handle, fd, 0);
        errnum = errno;
    }
    errno = errnum;
    report("pidfd_getfd", got);
    got = -1;
    for (int fd = 0; got < 0 && fd < 64; fd++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        got = open(path, O_RDONLY | O_NONBLOCK);
        if (got < 0 && errno != ENOENT)
            errnum = errno;
    }
    errno = errnum;
    report("open fd", got);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    pid_t pid = atoi(argv[1]);
    if (strcmp(argv[1], "child") == 0 && (pid = fork()) == 0) {
        pause();
        _exit(0);
    }
    files(pid);
    descriptors(pid);
    memory(pid);
    trace(pid);
    if (strcmp(argv[1], "child") == 0)
        kill(pid, SIGKILL);
    return 0;
}
