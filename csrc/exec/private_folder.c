#include "exec/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/mount_api.h"
#include "exec/statx.h"

static int open_entry(int folder, const char *name, bool directory) {
    struct open_how how = {.flags = (unsigned)(O_PATH | O_CLOEXEC | (directory ? O_DIRECTORY : 0)),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

static int make_entry(int folder, const char *name, bool directory) {
    int result = directory ? mkdirat(folder, name, 0755) : mknodat(folder, name, S_IFREG, 0);
    return result == 0 || errno == EEXIST ? 0 : -1;
}

/* The folder, with a mount on it: that cannot be renamed. */
static int open_pinned(int folder, const char *name) {
    struct file_facts facts;
    cleanup_fd int fd = make_entry(folder, name, true) != 0 ? -1 : open_entry(folder, name, true);
    if (fd < 0 || file_facts_of(fd, &facts) != 0)
        return -1;
    if (facts.mount_root)
        return steal_fd(&fd);
    cleanup_fd int tree = tree_clone_fd(fd, true);
    return tree < 0 || tree_attach(tree, fd) != 0 ? -1 : open_entry(folder, name, true);
}

/* The folder in which the last name of the way is to be, which is put into *name. */
static int open_parent(int tree, const char *way, const char **name) {
    char part[NAME_MAX + 1];
    cleanup_fd int folder = fcntl(tree, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; folder >= 0 && (slash = strchr(way, '/')) != NULL; way = slash + 1) {
        size_t length = (size_t)(slash - way);
        if (length >= sizeof part) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, way, length);
        part[length] = '\0';
        int next = open_pinned(folder, part);
        close_fd(&folder);
        folder = next;
    }
    *name = way;
    return folder < 0 ? -1 : steal_fd(&folder);
}

int private_folder_open(int tree, const char *way, bool directory) {
    const char *name;
    cleanup_fd int folder = open_parent(tree, way, &name);
    return folder < 0 || make_entry(folder, name, directory) != 0 ? -1 : open_entry(folder, name, directory);
}

int private_folder_link(int tree, const char *way, const char *real) {
    char text[PATH_MAX];
    const char *name;
    ssize_t length = readlink(real, text, sizeof text - 1);
    /* What is no symlink any more is not there. */
    if (length <= 0)
        return 0;
    text[length] = '\0';
    cleanup_fd int folder = open_parent(tree, way, &name);
    if (folder < 0)
        return -1;
    return symlinkat(text, folder, name) == 0 || errno == EEXIST ? 0 : -1;
}
