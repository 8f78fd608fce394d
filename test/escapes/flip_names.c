/*
 * flip_names CALL TRIES: makes one call again and again with a path whose first byte another thread flips: it
 * names a file of the command's, d/xmcp.json, or d/.mcp.json. The calls that begin with "old" find the first
 * there, and never take anything away; it may be a folder. Prints how many tries there were, and how often
 * the call gave 0, or said that it is a folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FREE "d/xmcp.json"
#define PROTECTED "d/.mcp.json"

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = FREE};
#define path (address.sun_path)
static atomic_int folders[2];
static int descriptor;
static atomic_bool over;

static void *flip(void *data) {
    (void)data;
    volatile char *byte = &path[2];
    for (unsigned i = 0; !over; i++) {
        *byte = i % 2 == 0 ? '.' : 'x';
        for (volatile unsigned pause = i % 512; pause > 0; pause--)
            ;
    }
    return NULL;
}

/* One byte more or less behind the name: a slash. */
static void *flip_slash(void *data) {
    (void)data;
    volatile char *byte = &path[sizeof PROTECTED - 1];
    for (unsigned i = 0; !over; i++) {
        *byte = i % 2 == 0 ? '/' : '\0';
        for (volatile unsigned pause = i % 512; pause > 0; pause--)
            ;
    }
    return NULL;
}

/* d/folder is by turns a folder with commands in it, an empty one, and not there. */
static void *flip_folder(void *data) {
    (void)data;
    while (!over) {
        syscall(SYS_renameat2, AT_FDCWD, "d/folder", AT_FDCWD, "d/empty", RENAME_EXCHANGE);
        rename("d/folder", "d/away");
        rename("d/away", "d/folder");
    }
    return NULL;
}

static int move_folder(void) {
    if (rename("d/folder", "d/.claude") != 0)
        return -1;
    if (access("d/.claude/commands", F_OK) != 0)
        rename("d/.claude", "d/empty");
    return 0;
}

/* The number of one descriptor names d/ and e/ by turns. */
static void *flip_descriptor(void *data) {
    (void)data;
    for (unsigned i = 0; !over; i++) {
        dup2(folders[i % 2], descriptor);
        for (volatile unsigned pause = i % 512; pause > 0; pause--)
            ;
    }
    return NULL;
}

static int close_it(int fd) {
    if (fd < 0)
        return errno == EISDIR ? 0 : -1;
    close(fd);
    return 0;
}

static int write_it(int fd) {
    if (fd < 0)
        return errno == EISDIR ? 0 : -1;
    int result = write(fd, "attack", 6) == 6 ? 0 : -1;
    close(fd);
    return result;
}

static int attempt(const char *call) {
    if (strcmp(call, "open") == 0)
        return write_it(open(path, O_WRONLY | O_CREAT, 0666));
    if (strcmp(call, "excl") == 0)
        return write_it(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
    if (strcmp(call, "read-create") == 0)
        return close_it(open(path, O_RDONLY | O_CREAT, 0666));
    if (strcmp(call, "mkdir") == 0)
        return mkdir(path, 0777);
    if (strcmp(call, "mknod") == 0)
        return mknod(path, S_IFIFO | 0666, 0);
    if (strcmp(call, "symlink") == 0)
        return symlink("nowhere", path);
    if (strcmp(call, "link") == 0)
        return link("source", path);
    if (strcmp(call, "rename") == 0) {
        close_it(open("moved", O_WRONLY | O_CREAT, 0666));
        return rename("moved", path);
    }
    if (strcmp(call, "bind") == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        int result = bind(fd, (struct sockaddr *)&address, sizeof address);
        close(fd);
        return result;
    }
    /* e/ is the command's own; config in d/.git/../ is made by number only */
    if (strcmp(call, "openat") == 0)
        return write_it(openat(descriptor, "config.worktree", O_WRONLY | O_CREAT, 0666));
    if (strcmp(call, "mkdirat") == 0)
        return mkdirat(descriptor, "config.worktree", 0777);
    if (strcmp(call, "old-write") == 0)
        return write_it(open(path, O_WRONLY));
    if (strcmp(call, "old-create") == 0)
        return write_it(open(path, O_WRONLY | O_CREAT, 0666));
    if (strcmp(call, "old-cut") == 0)
        return close_it(open(path, O_RDONLY | O_TRUNC));
    if (strcmp(call, "slash") == 0)
        return write_it(open(path, O_WRONLY | O_CREAT, 0666));
    if (strcmp(call, "old-folder") == 0)
        return move_folder();
    if (strcmp(call, "old-truncate") == 0)
        return truncate(path, 3);
    if (strcmp(call, "old-chmod") == 0)
        return chmod(path, 0777);
    if (strcmp(call, "old-xattr") == 0)
        return setxattr(path, "user.attack", "x", 1, 0);
    if (strcmp(call, "old-times") == 0)
        return utimensat(AT_FDCWD, path, NULL, 0);
    exit(2);
}

static void clean(bool by_descriptor) {
    if (by_descriptor) {
        if (unlink("e/config.worktree") != 0)
            rmdir("e/config.worktree");
    } else if (unlink(FREE) != 0) {
        rmdir(FREE);
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    bool old = strncmp(argv[1], "old", 3) == 0;
    bool by_descriptor = strcmp(argv[1], "openat") == 0 || strcmp(argv[1], "mkdirat") == 0;
    if (by_descriptor) {
        folders[0] = open("d/.git", O_RDONLY | O_DIRECTORY);
        folders[1] = open("e", O_RDONLY | O_DIRECTORY);
        descriptor = dup(folders[0]);
    }
    void *(*flipper)(void *) = by_descriptor ? flip_descriptor : flip;
    if (strcmp(argv[1], "slash") == 0) {
        strcpy(path, PROTECTED);
        flipper = flip_slash;
    } else if (strcmp(argv[1], "old-folder") == 0) {
        if (mkdir("d/folder", 0777) != 0 || mkdir("d/folder/commands", 0777) != 0 ||
            mkdir("d/empty", 0777) != 0)
            return 2;
        flipper = flip_folder;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, flipper, NULL) != 0)
        return 2;
    int worked = 0;
    for (int i = atoi(argv[2]); i > 0; i--) {
        if (attempt(argv[1]) != 0)
            continue;
        worked++;
        if (!old)
            clean(by_descriptor);
    }
    over = true;
    pthread_join(thread, NULL);
    printf("%s tries, %d worked\n", argv[2], worked);
    return worked > 0 ? 0 : 1;
}
