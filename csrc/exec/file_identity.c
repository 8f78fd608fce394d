#include "exec/file_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/* The text behind a key at the line's beginning, or NULL. */
static const char *value_of(const char *line, const char *key) {
    size_t length = strlen(key);
    return strncmp(line, key, length) == 0 ? line + length : NULL;
}

/* proc_pid_fdinfo(5) */
static void read_fdinfo(int fd, struct file_identity *out) {
    char path[40];
    char line[256];
    const char *value;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if ((value = value_of(line, "mnt_id:")) != NULL)
            out->mount = (int)strtol(value, NULL, 10);
        else if ((value = value_of(line, "ino:")) != NULL)
            out->inode = (ino_t)strtoull(value, NULL, 10);
    }
    fclose(file);
}

bool file_identity(int fd, struct file_identity *out) {
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return false;
    *out = (struct file_identity){
        .device = facts.st_dev, .inode = facts.st_ino, .mount = -1, .mode = facts.st_mode};
    read_fdinfo(fd, out);
    return true;
}

/* proc_pid_mountinfo(5): the mount's id, its parent's, major:minor. */
static bool is_line_of(const char *line, int mount, dev_t *out) {
    char *end;
    if (strtol(line, &end, 10) != mount)
        return false;
    strtol(end, &end, 10);
    unsigned long major_number = strtoul(end, &end, 10);
    if (*end != ':')
        return false;
    *out = makedev((unsigned)major_number, (unsigned)strtoul(end + 1, NULL, 10));
    return true;
}

bool superblock_device(pid_t thread, int mount, dev_t *out) {
    char path[40];
    cleanup_free char *line = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && getline(&line, &size, file) > 0)
        found = is_line_of(line, mount, out);
    fclose(file);
    return found;
}
