/*
 * Every call by which a name can be made, or what has it changed:
 *   create OWN TARGET...  the targets do not exist, their folders do
 *   change OWN TARGET...  they exist; a folder holds a file "inner" and a folder "empty"
 * OWN is a folder of the command's. What an attack made goes there, so that the next one can be made as well.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define NUMBER_OF_SETXATTRAT 463

static const char *own;

static void say(const char *target, const char *call, long result) {
    char name[8192];
    int error = errno;
    snprintf(name, sizeof name, "%s %s", target, call);
    errno = error;
    report(name, result);
}

/* A fresh name in the folder of the command's. */
static const char *fresh(const char *what) {
    static char names[8][4096];
    static unsigned at, count;
    char *name = names[at++ % 8];
    snprintf(name, sizeof names[0], "%s/%s-%u", own, what, count++);
    return name;
}

static const char *fresh_file(void) {
    const char *name = fresh("file");
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 || write(fd, "attack", 6) != 6 || close(fd) != 0) {
        perror(name);
        exit(2);
    }
    return name;
}

static const char *fresh_folder(void) {
    const char *name = fresh("folder");
    if (mkdir(name, 0777) != 0) {
        perror(name);
        exit(2);
    }
    return name;
}

static long write_to(int fd) {
    if (fd < 0)
        return -1;
    long written = write(fd, "attack", 6);
    close(fd);
    return written;
}

static long closed(int fd) {
    return fd < 0 ? fd : close(fd);
}

/* --- create --- */

static long make_open(const char *target) {
    return write_to(open(target, O_WRONLY | O_CREAT, 0666));
}
static long make_excl(const char *target) {
    return write_to(open(target, O_RDWR | O_CREAT | O_EXCL, 0666));
}
static long make_creat(const char *target) {
    return write_to(creat(target, 0666));
}
static long make_read_create(const char *target) {
    return closed(open(target, O_RDONLY | O_CREAT, 0666));
}
static long make_mkdir(const char *target) {
    return mkdir(target, 0777);
}
static long make_mknod(const char *target) {
    return mknod(target, S_IFREG | 0666, 0);
}
static long make_fifo(const char *target) {
    return mkfifo(target, 0666);
}
static long make_socket_node(const char *target) {
    return mknod(target, S_IFSOCK | 0666, 0);
}
static long make_symlink(const char *target) {
    return symlink("/etc/hostname", target);
}
static long make_dangling(const char *target) {
    return symlink("nowhere", target);
}
static long make_link(const char *target) {
    return link(fresh_file(), target);
}
static long make_rename(const char *target) {
    return rename(fresh_file(), target);
}
static long make_rename_folder(const char *target) {
    return rename(fresh_folder(), target);
}
static long make_noreplace(const char *target) {
    return renameat2(AT_FDCWD, fresh_file(), AT_FDCWD, target, RENAME_NOREPLACE);
}
static long make_tmpfile(const char *target) {
    char link_name[64];
    int fd = open(own, O_TMPFILE | O_RDWR, 0666);
    if (fd < 0)
        return -1;
    snprintf(link_name, sizeof link_name, "/proc/self/fd/%d", fd);
    long result = linkat(AT_FDCWD, link_name, AT_FDCWD, target, AT_SYMLINK_FOLLOW);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}
static long make_through_link(const char *target) {
    char path[4096];
    if (realpath(".", path) == NULL)
        return -1;
    strncat(path, "/", sizeof path - strlen(path) - 1);
    strncat(path, target, sizeof path - strlen(path) - 1);
    const char *name = fresh("link");
    return symlink(path, name) != 0 ? -1 : write_to(open(name, O_WRONLY | O_CREAT, 0666));
}
static long make_at(const char *target) {
    char folder[4096];
    snprintf(folder, sizeof folder, "./%s", target);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    int fd = open(folder, O_PATH | O_DIRECTORY);
    long result = fd < 0 ? -1 : write_to(openat(fd, slash + 1, O_WRONLY | O_CREAT, 0666));
    int error = errno;
    close(fd);
    errno = error;
    return result;
}
/* A socket's path is short: it is bound from its folder. */
static long make_bind(const char *target) {
    char path[4096];
    snprintf(path, sizeof path, "./%s", target);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int here = open(".", O_RDONLY | O_DIRECTORY);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", slash + 1);
    long result = chdir(path) != 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    if (fchdir(here) != 0)
        exit(2);
    close(here);
    errno = error;
    return result;
}

static const struct {
    const char *name;
    long (*make)(const char *target);
} makers[] = {
    {"open", make_open},
    {"excl", make_excl},
    {"creat", make_creat},
    {"read-create", make_read_create},
    {"mkdir", make_mkdir},
    {"mknod", make_mknod},
    {"mkfifo", make_fifo},
    {"socket-node", make_socket_node},
    {"symlink", make_symlink},
    {"dangling", make_dangling},
    {"link", make_link},
    {"rename", make_rename},
    {"rename-folder", make_rename_folder},
    {"noreplace", make_noreplace},
    {"tmpfile", make_tmpfile},
    {"through-link", make_through_link},
    {"openat", make_at},
    {"bind", make_bind},
};

static void create(const char *target) {
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        long result = makers[i].make(target);
        say(target, makers[i].name, result);
        if (result >= 0)
            rename(target, fresh("evidence"));
    }
}

/* --- change --- */

static void change_attributes(const char *target) {
    say(target, "chmod", chmod(target, 0777));
    say(target, "fchmodat", fchmodat(AT_FDCWD, target, 0777, 0));
    say(target, "fchmodat2", syscall(SYS_fchmodat2, AT_FDCWD, target, 0777, 0));
    say(target, "chown", chown(target, getuid(), getgid()));
    say(target, "lchown", lchown(target, getuid(), getgid()));
    say(target, "utimensat", utimensat(AT_FDCWD, target, NULL, 0));
    say(target, "lutimes", utimensat(AT_FDCWD, target, NULL, AT_SYMLINK_NOFOLLOW));
    say(target, "setxattr", setxattr(target, "user.attack", "x", 1, 0));
    say(target, "lsetxattr", lsetxattr(target, "user.attack", "x", 1, 0));
    say(target, "removexattr", removexattr(target, "user.attack"));
    struct {
        unsigned long value;
        unsigned size, flags;
    } attribute = {(unsigned long)"x", 1, 0};
    say(target, "setxattrat",
        syscall(NUMBER_OF_SETXATTRAT, AT_FDCWD, target, 0, "user.attack", &attribute, sizeof attribute));
}

static void change_by_descriptor(const char *target) {
    char name[64];
    int fd = open(target, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        perror(target);
        exit(2);
    }
    say(target, "fchmod", fchmod(fd, 0777));
    say(target, "fchown", fchown(fd, getuid(), getgid()));
    say(target, "futimens", futimens(fd, NULL));
    say(target, "fsetxattr", fsetxattr(fd, "user.by-fd", "x", 1, 0));
    say(target, "fremovexattr", fremovexattr(fd, "user.by-fd"));
    say(target, "fchmodat2-empty", syscall(SYS_fchmodat2, fd, "", 0777, AT_EMPTY_PATH));
    static const char *const ways[] = {"/proc/self/fd/%d", "/proc/thread-self/fd/%d", "/dev/fd/%d"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, ways[i], fd);
#pragma GCC diagnostic pop
        say(target, ways[i], chmod(name, 0777));
    }
    close(fd);
}

static void change_content(const char *target) {
    say(target, "write", write_to(open(target, O_WRONLY)));
    say(target, "read-write", write_to(open(target, O_RDWR)));
    say(target, "append", write_to(open(target, O_WRONLY | O_APPEND)));
    say(target, "truncating", write_to(open(target, O_WRONLY | O_TRUNC)));
    say(target, "read-truncating", closed(open(target, O_RDONLY | O_TRUNC)));
    say(target, "creat", write_to(creat(target, 0666)));
    say(target, "truncate", truncate(target, 1));
    const char *name = fresh("hard");
    long linked = link(target, name);
    say(target, "link", linked < 0 ? -1 : write_to(open(name, O_WRONLY)));
    char by_fd[64];
    int fd = open(target, O_RDONLY);
    snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", fd);
    say(target, "write-by-descriptor", write_to(open(by_fd, O_WRONLY)));
    say(target, "truncate-by-descriptor", truncate(by_fd, 2));
    say(target, "link-by-descriptor", linkat(AT_FDCWD, by_fd, AT_FDCWD, fresh("hard"), AT_SYMLINK_FOLLOW));
    close(fd);
}

static void change_inside(const char *target) {
    char inner[4096], made[4096], empty[4096];
    snprintf(inner, sizeof inner, "%s/inner", target);
    snprintf(made, sizeof made, "%s/made", target);
    snprintf(empty, sizeof empty, "%s/empty", target);
    create(made);
    change_attributes(inner);
    change_by_descriptor(inner);
    change_content(inner);
    int fd = open(target, O_RDONLY | O_DIRECTORY);
    say(target, "openat-below", write_to(openat(fd, "below", O_WRONLY | O_CREAT, 0666)));
    say(target, "mkdirat-below", mkdirat(fd, "folder", 0777));
    close(fd);
    say(inner, "rename-over", rename(fresh_file(), inner));
    say(inner, "unlink", unlink(inner));
    say(empty, "rmdir", rmdir(empty));
}

static void change(const char *target) {
    struct stat facts;
    if (stat(target, &facts) != 0) {
        perror(target);
        exit(2);
    }
    bool folder = S_ISDIR(facts.st_mode);
    change_attributes(target);
    change_by_descriptor(target);
    if (folder)
        change_inside(target);
    else
        change_content(target);
    const char *other = folder ? fresh_folder() : fresh_file();
    long exchanged = renameat2(AT_FDCWD, other, AT_FDCWD, target, RENAME_EXCHANGE);
    say(target, "exchange", exchanged);
    say(target, "exchange-back", renameat2(AT_FDCWD, target, AT_FDCWD, other, RENAME_EXCHANGE));
    const char *away = fresh("away");
    long moved = rename(target, away);
    say(target, "rename-away", moved);
    if (moved == 0)
        rename(away, target);
    if (folder)
        return;
    say(target, "rename-over", rename(fresh_file(), target));
    say(target, "unlink", unlink(target));
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    own = argv[2];
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[1], "create") == 0)
            create(argv[i]);
        else
            change(argv[i]);
    }
    return 0;
}
