/*
 * Every call that takes a path, on every kind of path: prints the result of each and what it changed. Run in
 * an empty folder; the output is the same wherever the kernel's own answers arrive.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>

#include "scene.h"

static char base[1024];
static struct listing pristine;
static unsigned step = 1, turn;

/* ---- calls: each with one path, relative to a descriptor ---- */

typedef long call_fn(int at, const char *path, long variant);

static long do_open(int at, const char *path, long flags) {
    long fd = syscall(SYS_openat, at, path, (int)flags, 0666);
    if (fd < 0)
        return fd;
    char link[1200] = "", where[64];
    struct stat facts;
    must(fstat((int)fd, &facts), "fstat");
    snprintf(where, sizeof where, "/proc/self/fd/%ld", fd);
    (void)!readlink(where, link, sizeof link - 1);
    size_t skip = strncmp(link, base, strlen(base)) == 0 ? strlen(base) : 0;
    char *hash = strchr(link, '#'); /* a nameless file's number */
    if (hash)
        strcpy(hash, "nameless");
    printf("[flags %x, %x; %o %s; ", fcntl((int)fd, F_GETFL), fcntl((int)fd, F_GETFD), facts.st_mode,
           link + skip);
    bool device = S_ISCHR(facts.st_mode);
    printf("write %zd] ", device ? 0 : write((int)fd, "more than there was", 19));
    close((int)fd);
    return fd;
}

static long do_mkdir(int at, const char *path, long mode) {
    return syscall(SYS_mkdirat, at, path, (mode_t)mode);
}

static long do_mknod(int at, const char *path, long mode) {
    return syscall(SYS_mknodat, at, path, (mode_t)mode, S_ISCHR(mode) ? 0x103 : 0);
}

static long do_unlink(int at, const char *path, long flags) {
    return syscall(SYS_unlinkat, at, path, (int)flags);
}

static long do_symlink(int at, const char *path, long which) {
    static char long_target[5000];
    memset(long_target, 'x', sizeof long_target - 1);
    const char *const targets[] = {"target", "", long_target};
    return syscall(SYS_symlinkat, targets[which], at, path);
}

static long do_chmod(int at, const char *path, long mode) {
    return syscall(SYS_fchmodat, at, path, (mode_t)mode);
}

static long do_chmod2(int at, const char *path, long flags) {
    return syscall(452 /* fchmodat2 */, at, path, 0711, (int)flags);
}

static long do_chown_same(int at, const char *path, long flags) {
    return syscall(SYS_fchownat, at, path, getuid(), getgid(), (int)flags);
}

static long do_chown_nothing(int at, const char *path, long flags) {
    return syscall(SYS_fchownat, at, path, -1, -1, (int)flags);
}

static long do_utimens(int at, const char *path, long which) {
    static const struct {
        struct timespec times[2];
        int flags;
        bool none;
    } variants[] = {
        {{{1000, 5000000}, {2000, 6000000}}, 0, false},
        {{{1000, 5000000}, {2000, 6000000}}, AT_SYMLINK_NOFOLLOW, false},
        {{{1000, 5000000}, {2000, 6000000}}, AT_EMPTY_PATH, false},
        {{{0, UTIME_OMIT}, {3000, 0}}, 0, false},
        {{{0, UTIME_NOW}, {0, UTIME_NOW}}, 0, false},
        {{{0, UTIME_OMIT}, {0, UTIME_OMIT}}, 0, false},
        {{{0, 0}, {0, 1000000000}}, 0, false},
        {{{0, 0}, {0, 0}}, 0, true},
        {{{1, 0}, {1, 0}}, 0x4000, false},
    };
    const struct timespec *times = variants[which].none ? NULL : variants[which].times;
    return syscall(SYS_utimensat, at, path, times, variants[which].flags);
}

/* Calls without a descriptor are tried only where there is none. */
static long do_legacy(int at, const char *path, long which) {
    (void)at;
    const struct timeval times[] = {{100, 0}, {200, 0}};
    const struct utimbuf seconds = {100, 200};
    switch (which) {
#ifdef SYS_open
    case 0:
        return syscall(SYS_mkdir, path, 0777);
    case 1:
        return syscall(SYS_rmdir, path);
    case 2:
        return syscall(SYS_unlink, path);
    case 3:
        return syscall(SYS_mknod, path, S_IFIFO | 0666, 0);
    case 4:
        return syscall(SYS_chmod, path, 0700);
    case 5:
        return syscall(SYS_chown, path, getuid(), -1);
    case 6:
        return syscall(SYS_lchown, path, -1, getgid());
    case 7:
        return syscall(SYS_utimes, path, times);
    case 8:
        return syscall(SYS_utime, path, &seconds);
    case 9:
        return syscall(SYS_symlink, "target", path);
    case 10: {
        struct stat facts;
        if (lstat(path, &facts) == 0 && S_ISFIFO(facts.st_mode))
            return 0; /* would wait for a reader */
        long fd = syscall(SYS_creat, path, 0666);
        return fd < 0 ? fd : close((int)fd);
    }
#endif
    default:
        (void)times;
        (void)seconds;
        return 0;
    }
}

static long do_truncate(int at, const char *path, long length) {
    (void)at;
    return syscall(SYS_truncate, path, length);
}

static const char *const ATTRIBUTES[] = {"user.new", "user.has", "trusted.x", "security.x",
                                         "nonsense", "user.",    ""};

static long do_setxattr(int at, const char *path, long which) {
    (void)at;
    return syscall(SYS_setxattr, path, ATTRIBUTES[which & 7], "value", 5, (int)(which >> 3));
}

static long do_lsetxattr(int at, const char *path, long which) {
    (void)at;
    return syscall(SYS_lsetxattr, path, ATTRIBUTES[which & 7], "value", 5, (int)(which >> 3));
}

static long do_removexattr(int at, const char *path, long which) {
    (void)at;
    return syscall(which & 8 ? SYS_lremovexattr : SYS_removexattr, path, ATTRIBUTES[which & 7]);
}

/* A socket of some type, used with an address: bound, connected, sent to. */
static long do_socket(int at, const char *path, long which) {
    (void)at;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if ((uintptr_t)path < 4096 || strlen(path) > sizeof address.sun_path)
        return 0;
    memcpy(address.sun_path, path, strlen(path));
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + (*path && which & 4));
    int fd = socket(AF_UNIX, which & 8 ? SOCK_DGRAM : SOCK_STREAM, 0);
    long result = (which & 3) == 0   ? bind(fd, (struct sockaddr *)&address, size)
                  : (which & 3) == 1 ? connect(fd, (struct sockaddr *)&address, size)
                                     : sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int error = errno;
    if (result == 0 && (which & 3) == 0) {
        struct sockaddr_un own = {0};
        size = sizeof own;
        must(getsockname(fd, (struct sockaddr *)&own, &size), "getsockname");
        printf("[%u bytes, %.*s] ", size, (int)sizeof own.sun_path,
               *path ? own.sun_path + !*own.sun_path : "a name");
    }
    close(fd);
    errno = error;
    return result;
}

/* What restricts the paths that a call is tried on. */
enum {
    NO_DESCRIPTOR = 1,   /* it takes none */
    LEAVES_EXISTING = 2, /* it does nothing to what is there */
    ON_LINK = 4,         /* it acts on a link, not on what it leads to */
};

static const struct call {
    const char *name;
    call_fn *call;
    long variant;
    unsigned traits;
} calls[] = {
    {"open RDONLY", do_open, O_RDONLY | O_NONBLOCK, LEAVES_EXISTING},
    {"open WRONLY", do_open, O_WRONLY | O_NONBLOCK, LEAVES_EXISTING},
    {"open RDWR NOFOLLOW", do_open, O_RDWR | O_NONBLOCK | O_NOFOLLOW, LEAVES_EXISTING | ON_LINK},
    {"open WRONLY TRUNC", do_open, O_WRONLY | O_TRUNC | O_NONBLOCK, LEAVES_EXISTING},
    {"open RDONLY TRUNC", do_open, O_RDONLY | O_TRUNC | O_NONBLOCK, LEAVES_EXISTING},
    {"open 3", do_open, O_ACCMODE | O_NONBLOCK, LEAVES_EXISTING},
    {"open DIRECTORY", do_open, O_DIRECTORY, LEAVES_EXISTING},
    {"open RDWR DIRECTORY", do_open, O_RDWR | O_DIRECTORY, LEAVES_EXISTING},
    {"open PATH", do_open, O_PATH, LEAVES_EXISTING},
    {"open PATH NOFOLLOW CREAT", do_open, O_PATH | O_NOFOLLOW | O_CREAT | O_WRONLY,
     LEAVES_EXISTING | ON_LINK},
    {"open CREAT RDONLY", do_open, O_CREAT | O_RDONLY | O_NONBLOCK, LEAVES_EXISTING},
    {"open CREAT WRONLY CLOEXEC", do_open, O_CREAT | O_WRONLY | O_NONBLOCK | O_CLOEXEC, LEAVES_EXISTING},
    {"open CREAT TRUNC RDWR APPEND", do_open, O_CREAT | O_TRUNC | O_RDWR | O_APPEND | O_NONBLOCK,
     LEAVES_EXISTING},
    {"open CREAT EXCL", do_open, O_CREAT | O_EXCL | O_RDWR, LEAVES_EXISTING},
    {"open CREAT EXCL NOFOLLOW SYNC", do_open, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_SYNC,
     LEAVES_EXISTING | ON_LINK},
    {"open CREAT NOFOLLOW", do_open, O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK, LEAVES_EXISTING | ON_LINK},
    {"open CREAT DIRECTORY", do_open, O_CREAT | O_DIRECTORY, LEAVES_EXISTING},
    {"open CREAT 3", do_open, O_CREAT | O_ACCMODE | O_NONBLOCK, LEAVES_EXISTING},
    {"open CREAT ASYNC NOATIME DSYNC", do_open, O_CREAT | O_RDWR | O_ASYNC | O_NOATIME | O_DSYNC | O_NONBLOCK,
     LEAVES_EXISTING},
    {"open TMPFILE", do_open, O_TMPFILE | O_RDWR, 0},
    {"open TMPFILE RDONLY", do_open, O_TMPFILE, 0},
    {"open TMPFILE EXCL", do_open, O_TMPFILE | O_EXCL | O_WRONLY, 0},
    {"open CREAT unknown bit", do_open, O_CREAT | O_WRONLY | O_NONBLOCK | 0x8000000, LEAVES_EXISTING},
    {"mkdir", do_mkdir, 0777, LEAVES_EXISTING},
    {"mkdir 07777", do_mkdir, 07777, LEAVES_EXISTING},
    {"mknod file", do_mknod, S_IFREG | 0666, 0},
    {"mknod file without kind", do_mknod, 0640, 0},
    {"mknod fifo", do_mknod, S_IFIFO | 04711, 0},
    {"mknod socket", do_mknod, S_IFSOCK | 0666, 0},
    {"mknod device", do_mknod, S_IFCHR | 0666, 0},
    {"mknod directory", do_mknod, S_IFDIR | 0777, 0},
    {"mknod 0170000", do_mknod, 0170000, 0},
    {"unlink", do_unlink, 0, ON_LINK},
    {"unlink REMOVEDIR", do_unlink, AT_REMOVEDIR, ON_LINK},
    {"unlink wrong flag", do_unlink, AT_EMPTY_PATH, ON_LINK},
    {"symlink", do_symlink, 0, 0},
    {"symlink to nothing", do_symlink, 1, 0},
    {"symlink to too much", do_symlink, 2, 0},
    {"chmod", do_chmod, 0751, 0},
    {"chmod 0177777", do_chmod, 0177777, 0},
    {"fchmodat2", do_chmod2, 0, 0},
    {"fchmodat2 NOFOLLOW", do_chmod2, AT_SYMLINK_NOFOLLOW, ON_LINK},
    {"fchmodat2 EMPTY_PATH", do_chmod2, AT_EMPTY_PATH, 0},
    {"fchmodat2 wrong flag", do_chmod2, 1, 0},
    {"chown", do_chown_same, 0, 0},
    {"chown NOFOLLOW", do_chown_same, AT_SYMLINK_NOFOLLOW, ON_LINK},
    {"chown EMPTY_PATH", do_chown_same, AT_EMPTY_PATH, 0},
    {"chown wrong flag", do_chown_same, 1, 0},
    {"chown nothing", do_chown_nothing, 0, 0},
    {"utimens", do_utimens, 0, 0},
    {"utimens NOFOLLOW", do_utimens, 1, ON_LINK},
    {"utimens EMPTY_PATH", do_utimens, 2, 0},
    {"utimens OMIT", do_utimens, 3, 0},
    {"utimens NOW", do_utimens, 4, 0},
    {"utimens OMIT OMIT", do_utimens, 5, 0},
    {"utimens wrong time", do_utimens, 6, 0},
    {"utimens NULL", do_utimens, 7, 0},
    {"utimens wrong flag", do_utimens, 8, 0},
    {"legacy mkdir", do_legacy, 0, NO_DESCRIPTOR},
    {"legacy rmdir", do_legacy, 1, NO_DESCRIPTOR | ON_LINK},
    {"legacy unlink", do_legacy, 2, NO_DESCRIPTOR | ON_LINK},
    {"legacy mknod", do_legacy, 3, NO_DESCRIPTOR},
    {"legacy chmod", do_legacy, 4, NO_DESCRIPTOR},
    {"legacy chown", do_legacy, 5, NO_DESCRIPTOR},
    {"legacy lchown", do_legacy, 6, NO_DESCRIPTOR | ON_LINK},
    {"legacy utimes", do_legacy, 7, NO_DESCRIPTOR},
    {"legacy utime", do_legacy, 8, NO_DESCRIPTOR},
    {"legacy symlink", do_legacy, 9, NO_DESCRIPTOR},
    {"legacy creat", do_legacy, 10, NO_DESCRIPTOR},
    {"truncate", do_truncate, 2, NO_DESCRIPTOR},
    {"truncate longer", do_truncate, 5000, NO_DESCRIPTOR},
    {"truncate -1", do_truncate, -1, NO_DESCRIPTOR},
    {"setxattr", do_setxattr, 0, NO_DESCRIPTOR},
    {"setxattr CREATE has", do_setxattr, 8 * XATTR_CREATE + 1, NO_DESCRIPTOR},
    {"setxattr REPLACE new", do_setxattr, 8 * XATTR_REPLACE, NO_DESCRIPTOR},
    {"setxattr REPLACE has", do_setxattr, 8 * XATTR_REPLACE + 1, NO_DESCRIPTOR},
    {"setxattr wrong flag", do_setxattr, 8 * 4, NO_DESCRIPTOR},
    {"setxattr trusted", do_setxattr, 2, NO_DESCRIPTOR},
    {"setxattr security", do_setxattr, 3, NO_DESCRIPTOR},
    {"setxattr nonsense", do_setxattr, 4, NO_DESCRIPTOR},
    {"setxattr prefix alone", do_setxattr, 5, NO_DESCRIPTOR},
    {"setxattr no name", do_setxattr, 6, NO_DESCRIPTOR},
    {"lsetxattr", do_lsetxattr, 0, NO_DESCRIPTOR | ON_LINK},
    {"lsetxattr trusted", do_lsetxattr, 2, NO_DESCRIPTOR | ON_LINK},
    {"removexattr has", do_removexattr, 1, NO_DESCRIPTOR},
    {"removexattr new", do_removexattr, 0, NO_DESCRIPTOR},
    {"lremovexattr has", do_removexattr, 8 + 1, NO_DESCRIPTOR | ON_LINK},
    {"removexattr nonsense", do_removexattr, 4, NO_DESCRIPTOR},
    {"bind stream", do_socket, 0, NO_DESCRIPTOR | ON_LINK},
    {"bind stream, NUL counted", do_socket, 4, NO_DESCRIPTOR | ON_LINK},
    {"bind datagram", do_socket, 8, NO_DESCRIPTOR | ON_LINK},
    {"connect stream", do_socket, 1, NO_DESCRIPTOR},
    {"connect datagram", do_socket, 8 + 1, NO_DESCRIPTOR},
    {"send datagram", do_socket, 8 + 2, NO_DESCRIPTOR},
    {"send stream", do_socket, 2, NO_DESCRIPTOR},
};

/* ---- paths ---- */

static const char *const paths[] = {"new",
                                    "file",
                                    "dir",
                                    "link",
                                    "link2",
                                    "dirlink",
                                    "dangling",
                                    "danglingdir",
                                    "loop",
                                    "uplink",
                                    "cwdlink",
                                    "slashlink",
                                    "readonly",
                                    "setuid",
                                    "other",
                                    "hard",
                                    "fifo",
                                    "socket",
                                    "empty",
                                    "sgid",
                                    "sgid/new",
                                    "sticky/new",
                                    "rodir/new",
                                    "rodir/file",
                                    "rodir/empty",
                                    "closed",
                                    "closed/file",
                                    "closed/new",
                                    "new/",
                                    "file/",
                                    "dir/",
                                    "empty/",
                                    "link/",
                                    "dirlink/",
                                    "dangling/",
                                    "loop/",
                                    "new/.",
                                    "empty/.",
                                    "empty/..",
                                    "file/.",
                                    "dir/sub/..",
                                    "",
                                    ".",
                                    "..",
                                    "./",
                                    "./new",
                                    ".//new",
                                    "dir//new",
                                    "dir/../new",
                                    "dir/./file",
                                    "file/new",
                                    "no/new",
                                    "dirlink/new",
                                    "dirlink/back",
                                    "uplink/new",
                                    "slashlink/new",
                                    "loop/new",
                                    "../scene/new",
                                    "../chain/20",
                                    "../chain/41",
                                    "/dev/null/x",
                                    "/proc/self/cwd/new",
                                    "/proc/self/cwd/dir/file",
                                    "/proc/thread-self/cwd/new",
                                    "n\nw",
                                    "n\xff\x01w",
                                    "...",
                                    " ",
                                    "-",
                                    "*",
                                    "/proc/self/fd/19/new",
                                    "/proc/self/fd/18/new"};

/* Links of the kernel's, in a file system that nobody may change. */
static const char *const proc_links[] = {"/proc/self/cwd", "/proc/self/fd/19", "/dev/fd/18",
                                         "/proc/self/fd/17", "/proc/self/fd/1000"};

/* They are the host's when this runs outside: only for calls that leave alone what exists. */
static const char *const host_paths[] = {"/",   "//", "/dev", "/dev/null", "tonull", "/proc/self/root/",
                                         "/tmp"};

/* Descriptors that paths name: 19 a folder, 18 a file, 17 O_PATH of a symlink, 16 a folder that is gone. */
static void open_known(void) {
    must(mkdir("gone", 0777), "gone");
    must(dup2(open("dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 19), "19");
    must(dup2(open("file", O_RDWR | O_CLOEXEC), 18), "18");
    must(dup2(open("link", O_PATH | O_NOFOLLOW | O_CLOEXEC), 17), "17");
    must(dup2(open("gone", O_PATH | O_CLOEXEC), 16), "16");
    must(dup2(open("dir", O_PATH | O_CLOEXEC), 15), "15");
    must(rmdir("gone"), "gone");
    for (int fd = 3; fd < 15; fd++)
        close(fd);
}

static void try(const struct call *call, const char *label, int at, const char *path) {
    if (turn++ % step != 0)
        return;
    printf("%s ", call->name);
    for (const char *c = label; *c; c++)
        putchar(*c > ' ' || *c == ' ' ? *c : '?');
    putchar(' ');
    errno = 0;
    long result = call->call(at, path, call->variant);
    print_result(result);
    if (settle(base, &pristine))
        open_known();
    struct stat facts;
    if (lstat("../chain/41", &facts) != 0 || lstat("../chain/20", &facts) != 0) {
        must(chdir(base), base);
        remove_tree("chain");
        make_chain();
        must(chdir("scene"), "scene");
    }
}

static void try_list(const struct call *call, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        try(call, list[i], AT_FDCWD, list[i]);
}

static void try_paths(const struct call *call) {
    char text[5000];
    try_list(call, paths, sizeof paths / sizeof paths[0]);
    if (!(call->traits & ON_LINK))
        try_list(call, proc_links, sizeof proc_links / sizeof proc_links[0]);
    if (call->traits & LEAVES_EXISTING)
        try_list(call, host_paths, sizeof host_paths / sizeof host_paths[0]);
    snprintf(text, sizeof text, "%s/scene/new", base);
    try(call, "BASE/new", AT_FDCWD, text);
    memset(text, 'n', sizeof text);
    for (size_t length = 254; length <= 256; length++) {
        text[length] = 0;
        try(call, length == 254 ? "254" : length == 255 ? "255" : "256", AT_FDCWD, text);
        text[length] = 'n';
    }
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 ? '/' : '.';
    strcpy(text + 4092, "new");
    try(call, "4095 bytes", AT_FDCWD, text);
    text[4095] = 'w';
    text[4096] = 0;
    try(call, "4096 bytes", AT_FDCWD, text);
}

static void try_descriptors(const struct call *call) {
    static const struct {
        int at;
        const char *path;
    } places[] = {
        {19, "new"}, {19, "file"},    {19, "../new"}, {19, ""},      {15, "new"},         {15, "back"},
        {15, ""},    {15, "../file"}, {18, "new"},    {18, ""},      {17, "x"},           {17, ""},
        {16, "new"}, {16, ".."},      {-1, "new"},    {1000, "new"}, {-1, "/dev/null/x"}, {1000, ""}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char label[64];
        snprintf(label, sizeof label, "%d:%s", places[i].at, places[i].path);
        try(call, label, places[i].at, places[i].path);
    }
}

/* Text at the end of the memory, and pointers to none. */
static void try_pointers(const struct call *call) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(mprotect(memory + page, page, PROT_NONE), "mprotect");
    strcpy(memory + page - 4, "new");
    try(call, "last bytes of a page", AT_FDCWD, memory + page - 4);
    memory[page - 1] = 'w';
    try(call, "text without an end", AT_FDCWD, memory + page - 4);
    try(call, "closed page", AT_FDCWD, memory + page);
    try(call, "NULL", AT_FDCWD, NULL);
    munmap(memory, 2 * page);
}

int main(int argc, char **argv) {
    if (argc > 1)
        step = (unsigned)atoi(argv[1]);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    must(getcwd(base, sizeof base) ? 0 : -1, "getcwd");
    umask(027);
    make_chain();
    renew_scene(base);
    open_known();
    list_scene(&pristine);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        try_paths(&calls[i]);
        if (!(calls[i].traits & NO_DESCRIPTOR))
            try_descriptors(&calls[i]);
        if (calls[i].call != do_socket)
            try_pointers(&calls[i]);
    }
    must(chdir(base), base);
    remove_tree("scene");
    remove_tree("chain");
    return 0;
}
