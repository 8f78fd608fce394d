#include "exec/job_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

void job_terminal_open(struct job_terminal *terminal, pid_t group) {
    pid_t parent = getppid();
    *terminal = JOB_TERMINAL_NONE;
    terminal->command_line = (int)syscall(SYS_pidfd_open, parent, 0u);
    /* Had it ended by then the number might be another's. */
    if (getppid() != parent)
        close_fd(&terminal->command_line);
    terminal->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (terminal->fd < 0 || group <= 0)
        return;
    signal(SIGTTOU, SIG_IGN);
    terminal->group = group;
    /* Of a job in the background the modes are not its own: they are the shell's, or the other job's. */
    terminal->has_modes = tcgetpgrp(terminal->fd) == group && tcgetattr(terminal->fd, &terminal->modes) == 0;
}

static bool is_alive(pid_t group) {
    return kill(-group, 0) == 0 || errno == EPERM;
}

void job_terminal_take_back(const struct job_terminal *terminal) {
    pid_t now = terminal->fd < 0 ? -1 : tcgetpgrp(terminal->fd);
    if (now <= 0 || terminal->group <= 0)
        return;
    /* A shell inside had made a group of its own the foreground, and is gone without a word. */
    if (now != terminal->group && (is_alive(now) || tcsetpgrp(terminal->fd, terminal->group) != 0))
        return;
    if (terminal->has_modes)
        tcsetattr(terminal->fd, TCSANOW, &terminal->modes);
}

void job_terminal_stop(struct job_terminal *terminal) {
    terminal->stopped = terminal->fd < 0 ? 0 : tcgetpgrp(terminal->fd);
    if (terminal->command_line >= 0)
        syscall(SYS_pidfd_send_signal, terminal->command_line, SIGSTOP, NULL, 0u);
}

void job_terminal_continue(struct job_terminal *terminal) {
    pid_t group = terminal->stopped;
    terminal->stopped = 0;
    if (group > 0 && group != terminal->group && is_alive(group) &&
        tcgetpgrp(terminal->fd) == terminal->group)
        tcsetpgrp(terminal->fd, group);
}
