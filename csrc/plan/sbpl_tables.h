/* What commands on macOS need beside files: rows of the profile that no option changes, each with its reason.
 */
#ifndef OS_SANDBOX_PLAN_SBPL_TABLES_H
#define OS_SANDBOX_PLAN_SBPL_TABLES_H

#include <stdbool.h>
#include <stddef.h>

/* A rule of its own, as it is written. */
struct sbpl_row {
    const char *rule;
    const char *reason;
};

extern const struct sbpl_row sbpl_process_rows[];
extern const size_t sbpl_process_row_count;

/* Mach services that may be looked up. Everything else of launchd's is closed, LaunchServices, AppleEvents,
 * the keychain and trustd with it: those act outside of the sandbox, for whoever asks. */
extern const struct sbpl_row sbpl_mach_services[];
extern const size_t sbpl_mach_service_count;

/* Filters of sysctl-read. Not kern.procargs2: it shows the environment of every process of the user. */
extern const struct sbpl_row sbpl_sysctls[];
extern const size_t sbpl_sysctl_count;

struct sbpl_device {
    const char *filter;
    bool write;
    bool ioctl;
    const char *reason;
};
extern const struct sbpl_device sbpl_devices[];
extern const size_t sbpl_device_count;

struct sbpl_path {
    const char *path;
    const char *reason;
};

/* What programs need to start where only what is named may be read; runtime_files.h has what is the same on
 * Linux. */
extern const struct sbpl_path sbpl_runtime_paths[];
extern const size_t sbpl_runtime_path_count;

/* Below a home, never readable unless allowRead names it: what credentials.h has no place for on Linux. */
extern const struct sbpl_path sbpl_credentials[];
extern const size_t sbpl_credential_count;

#endif
