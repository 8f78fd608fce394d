#include "exec/settle.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

bool settle_is_needed(void) {
    struct utsname name;
    if (uname(&name) != 0)
        return true;
    char *rest;
    unsigned long major = strtoul(name.release, &rest, 10);
    unsigned long minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
    return major < 6 || (major == 6 && minor < 17);
}

/* A descriptor at a number that no process can have: the caller wakes up, refuses it with EBADF, and waits
 * anew. */
#define NO_PLACE 0x7fffffffu

bool settle(const struct call *call) {
    struct seccomp_notif_addfd nothing = {.id = call->id,
                                          .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                          .srcfd = (unsigned)call->supervisor->listener,
                                          .newfd = NO_PLACE};
    int result;
    do
        result = ioctl(call->supervisor->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &nothing);
    while (result < 0 && errno == EINTR);
    /* ESRCH, ENOENT, EINPROGRESS: there is nobody any more who waits for this answer (seccomp_unotify(2)). */
    return result >= 0 || (errno != ESRCH && errno != ENOENT && errno != EINPROGRESS);
}
