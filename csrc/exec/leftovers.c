#include "exec/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec/capabilities.h"
#include "exec/rules.h"

/*
 * The run's mounts are gone: paths lead to what the host has there, which is looked at only where it is the
 * very folder that a command made (rules_stamp.h). As the supervisor, with no more than a command's rights.
 */
static int child_main(struct session_index *index) {
    const struct payload nothing = {0};
    sigset_t none;
    sigemptyset(&none);
    /* The agent's sockets among them: while a copy is open their other ends see no end of file. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || capabilities_keep(CAPABILITIES_NONE) != 0 ||
        sigprocmask(SIG_SETMASK, &none, NULL) != 0 || syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
        return 1;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct rules *rules = root < 0 ? NULL : rules_new(&nothing, root, index);
    if (rules == NULL)
        return 1;
    rules_finish(rules, NULL);
    return 0;
}

pid_t leftovers_fork(struct session_index *index) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_main(index));
    return pid;
}
