#include "exec/caller.h"

#include <stdint.h>
#include <sys/ioctl.h>

#include "exec/target.h"

/* linux/pidfd.h of Linux 6.13, PIDFD_INFO_SIZE_VER0 */
struct pidfd_facts {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t thread;
    uint32_t process;
    uint32_t unused[10];
};
#define PIDFD_FACTS _IOWR(0xff, 11, struct pidfd_facts)
#define PIDFD_FACTS_OF_PROCESS 1u

_Static_assert(sizeof(struct pidfd_facts) == 64, "the kernel's first size");

pid_t caller_process(struct call *call) {
    struct pidfd_facts facts = {.mask = PIDFD_FACTS_OF_PROCESS};
    int pidfd = call_pidfd(call);
    if (pidfd >= 0 && ioctl(pidfd, PIDFD_FACTS, &facts) == 0 && facts.process != 0)
        return (pid_t)facts.process;
    struct target_ids ids;
    return target_ids(call, &ids) == 0 ? ids.process : call->thread;
}
