/* Places below the home directory where programs keep credentials: read-denied by default. */
#ifndef OS_SANDBOX_POLICY_CREDENTIALS_H
#define OS_SANDBOX_POLICY_CREDENTIALS_H

#include <stddef.h>

struct credential_path {
    const char *below_home;
    const char *kept_by; /* whose credentials: the source of the row */
};

extern const struct credential_path credential_paths[];
extern const size_t credential_path_count;

#endif
