/* What /proc/PID/status says (proc_pid_status(5)). */
#ifndef OS_SANDBOX_EXEC_PROC_STATUS_H
#define OS_SANDBOX_EXEC_PROC_STATUS_H

#include <sys/types.h>

struct proc_status {
    mode_t mask;         /* Umask */
    pid_t process;       /* Tgid, in the pid namespace of that procfs */
    pid_t inner_process; /* the same, and the thread's, in the innermost pid namespace that it is in */
    pid_t inner_thread;
};

/* Reads a status file relative to folder. 0, or an errno: ESRCH where the process is gone. */
int proc_status_read(int folder, const char *path, struct proc_status *out);

/* That of a thread, in the supervisor's own /proc. */
int proc_status_of(pid_t thread, struct proc_status *out);

#endif
