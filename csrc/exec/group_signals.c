#include "exec/group_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What a terminal sends, and what the command line passes on. */
static const int known[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

/*
 * A signal to a group is sent to all its processes under one lock, which changing a process's group has to
 * have alone: when this returns, whoever is in the group has what anybody in it was seen to have. The
 * process does not exist.
 */
static void await_others(void) {
    (void)setpgid(0x7fffffff, 0x7fffffff);
}

int group_signals_open(struct group_signals *group) {
    group->status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    return group->status < 0 ? -1 : 0;
}

/* Those that wait for the stage, bit n - 1 for signal n. */
static unsigned long long pending_for_stage(const struct group_signals *group) {
    char text[4096];
    ssize_t size = pread(group->status, text, sizeof text - 1, 0);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *line = strstr(text, "\nShdPnd:");
    return line == NULL ? 0 : strtoull(line + strlen("\nShdPnd:"), NULL, 16);
}

void group_signals_take_over(const struct group_signals *group) {
    unsigned long long theirs = pending_for_stage(group);
    sigset_t ours;
    await_others();
    if (theirs == 0 || sigpending(&ours) != 0)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if ((theirs >> (known[i] - 1) & 1) != 0 && sigismember(&ours, known[i]) == 0)
            kill(getpid(), known[i]);
}

bool group_signals_has(int number) {
    sigset_t ours;
    await_others();
    return sigpending(&ours) == 0 && sigismember(&ours, number) == 1;
}

bool group_signals_had(int number) {
    const struct timespec now = {0};
    sigset_t wanted;
    sigemptyset(&wanted);
    if (sigaddset(&wanted, number) != 0)
        return false;
    await_others();
    return sigtimedwait(&wanted, NULL, &now) == number;
}
