#include "exec/supervision.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/landlock.h"
#include "exec/payload.h"
#include "exec/seccomp_filter.h"
#include "exec/unix_diag.h"
#include "exec/wire.h"

static enum supervision_result only_static(char *text, size_t text_size) {
    int none = -1;
    size_t length = strlen(text);
    int errnum = seccomp_filter_install(SUPERVISE_STATIC_ONLY, 0, &none);
    if (errnum == 0)
        return SUPERVISION_UNSUPERVISED;
    snprintf(text + length, text_size - length, "%sseccomp: %s", length > 0 ? "; " : "", strerror(errnum));
    return SUPERVISION_UNFILTERED;
}

/* Without sending descriptors: a message that could carry some would be a notified call itself. */
static int hand_over(int listener, int unix_diag, bool landlocked) {
    volatile uint64_t sample = SUPERVISOR_SAMPLE;
    struct supervisor_hello hello = {.listener = listener,
                                     .unix_diag = unix_diag,
                                     .landlock = landlocked,
                                     .sample = (uint64_t)(uintptr_t)&sample};
    struct supervisor_ready ready;
    ssize_t got;
    if (send(LAUNCH_FD_SUPERVISOR, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
        return errno;
    while ((got = recv(LAUNCH_FD_SUPERVISOR, &ready, sizeof ready, 0)) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)sizeof ready ? ready.status : EPIPE;
}

enum supervision_result supervision_enter(unsigned supervision, uint64_t memory, char *text,
                                          size_t text_size) {
    cleanup_fd int listener = -1;
    text[0] = '\0';
    if (supervision & SUPERVISE_UNFILTERED)
        return SUPERVISION_HOLDS;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        snprintf(text, text_size, "no_new_privs: %s", strerror(errno));
        return SUPERVISION_UNFILTERED;
    }
    if ((supervision & SUPERVISE_FILTER) == 0)
        return only_static(text, text_size) == SUPERVISION_UNFILTERED ? SUPERVISION_UNFILTERED
                                                                      : SUPERVISION_HOLDS;
    /* Where there is none the supervisor leaves less to the kernel. Before the filter, which keeps commands
     * from more of it. */
    bool landlocked = (supervision & SUPERVISE_PATHS) != 0 && landlock_enter() == 0;
    /* Before the filter, which refuses its family. */
    cleanup_fd int unix_diag = unix_diag_open();
    int errnum = seccomp_filter_install(supervision, memory, &listener);
    if (errnum != 0) {
        snprintf(text, text_size, "seccomp notifications: %s", strerror(errnum));
        return only_static(text, text_size);
    }
    errnum = hand_over(listener, unix_diag, landlocked);
    if (errnum == 0)
        return SUPERVISION_HOLDS;
    snprintf(text, text_size, "the supervisor cannot take the run: %s", strerror(errnum));
    return SUPERVISION_UNSUPERVISED;
}
