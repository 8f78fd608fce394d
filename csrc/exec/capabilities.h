/* Giving up capabilities (capabilities(7)). */
#ifndef OS_SANDBOX_EXEC_CAPABILITIES_H
#define OS_SANDBOX_EXEC_CAPABILITIES_H

#include <stdint.h>

#define CAPABILITIES_NONE 0u

/* Takes all but kept (bits of the first 32) from the calling process, for good. 0, or -1 with errno. */
int capabilities_keep(uint32_t kept);

#endif
