#include "platform/linux/kernel_mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernel_types[] = {
    "proc",        "sysfs",     "cgroup",     "cgroup2",  "devtmpfs", "devpts",     "debugfs",
    "tracefs",     "bpf",       "securityfs", "configfs", "efivarfs", "pstore",     "fusectl",
    "binfmt_misc", "selinuxfs", "smackfs",    "mqueue",   "nfsd",     "rpc_pipefs", "resctrl",
};

static bool is_kernel_type(const char *type) {
    for (size_t i = 0; i < sizeof kernel_types / sizeof kernel_types[0]; i++)
        if (strcmp(type, kernel_types[i]) == 0)
            return true;
    return false;
}

/* The kernel writes blanks, newlines and backslashes as three octal digits behind a backslash. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && from[1] != '\0' && from[2] != '\0' && from[3] != '\0') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Fields: id, parent, device, root, mount point, options, optional ones, "-", type, … */
static int read_line(char *line, struct strvec *out) {
    char *rest = line;
    char *point = NULL;
    for (int field = 0; field < 5; field++)
        point = strsep(&rest, " ");
    char *type = rest == NULL ? NULL : strstr(rest, " - ");
    if (point == NULL || type == NULL)
        return 0;
    type += strlen(" - ");
    type[strcspn(type, " ")] = '\0';
    if (!is_kernel_type(type))
        return 0;
    unescape(point);
    return strvec_push(out, point);
}

int kernel_mounts_list(struct strvec *out, struct error *err) {
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    if (mounts == NULL)
        return error_set(err, ERROR_HOST, errno, "/proc/self/mountinfo");
    char *line = NULL;
    size_t size = 0;
    int result = 0;
    while (result == 0 && getline(&line, &size, mounts) > 0)
        result = read_line(line, out);
    free(line);
    fclose(mounts);
    return result == 0 ? 0 : error_memory(err);
}
