#include "exec/file_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/* proc_pid_fdinfo(5) */
static void read_fdinfo(int fd, struct file_identity *out) {
    char path[40];
    char line[256];
    uintmax_t inode;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "mnt_id: %d", &out->mount) == 1)
            continue;
        if (sscanf(line, "ino: %ju", &inode) == 1)
            out->inode = (ino_t)inode;
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

bool superblock_device(pid_t thread, int mount, dev_t *out) {
    char path[40];
    cleanup_free char *line = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && getline(&line, &size, file) > 0) {
        int id;
        unsigned major_number;
        unsigned minor_number;
        found = sscanf(line, "%d %*d %u:%u", &id, &major_number, &minor_number) == 3 && id == mount;
        if (found)
            *out = makedev(major_number, minor_number);
    }
    fclose(file);
    return found;
}
