#include "platform/linux/thread_rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEES_EVERYTHING ((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH))

static int capabilities(long call, struct __user_cap_data_struct *data) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return (int)syscall(call, &header, data);
}

void thread_rights_lower(struct thread_rights *saved) {
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    *saved = (struct thread_rights){0};
    if (capabilities(SYS_capget, data) != 0 || (data[0].effective & SEES_EVERYTHING) == 0)
        return;
    saved->effective[0] = data[0].effective;
    saved->effective[1] = data[1].effective;
    data[0].effective &= ~SEES_EVERYTHING;
    saved->changed = capabilities(SYS_capset, data) == 0;
}

void thread_rights_restore(const struct thread_rights *saved) {
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (!saved->changed || capabilities(SYS_capget, data) != 0)
        return;
    data[0].effective = saved->effective[0];
    data[1].effective = saved->effective[1];
    capabilities(SYS_capset, data);
}
