#include "exec/capabilities.h"

#include <linux/capability.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_keep(uint32_t kept) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0)
        return -1;
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].permitted &= i == 0 ? kept : 0;
        data[i].effective &= i == 0 ? kept : 0;
        data[i].inheritable = 0;
    }
    return (int)syscall(SYS_capset, &header, data);
}
