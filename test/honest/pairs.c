/*
 * pairs: every call that takes two paths, on every pair of kinds of paths; prints the result of each and what
 * it changed. Run in an empty folder.
 */
#include "scene.h"

#define RENAME_NOREPLACE_ 1
#define RENAME_EXCHANGE_ 2
#define RENAME_WHITEOUT_ 4

static char base[1024];
static struct listing pristine;

typedef long pair_fn(const char *from, const char *to, long variant);

static long do_rename(const char *from, const char *to, long flags) {
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, (unsigned)flags);
}

static long do_rename_plain(const char *from, const char *to, long variant) {
#ifdef SYS_rename
    if (variant == 0)
        return syscall(SYS_rename, from, to);
#endif
    (void)variant;
    return syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

static long do_link(const char *from, const char *to, long flags) {
    return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, (int)flags);
}

/* From and to are names in folders that descriptors stand for: a folder, O_PATH, a file, nothing. */
static long do_at(const char *from, const char *to, long variant) {
    int folders[] = {open("dir", O_RDONLY | O_DIRECTORY), open("empty", O_PATH), open("file", O_RDONLY), -1};
    int source = folders[variant & 3], target = folders[variant >> 2 & 3];
    long result = variant & 16 ? syscall(SYS_linkat, source, from, target, to, 0)
                               : syscall(SYS_renameat2, source, from, target, to, 0);
    int error = errno;
    for (int i = 0; i < 3; i++)
        close(folders[i]);
    errno = error;
    return result;
}

static const struct call {
    const char *name;
    pair_fn *call;
    long variant;
} calls[] = {
    {"rename", do_rename_plain, 0},
    {"renameat", do_rename_plain, 1},
    {"rename NOREPLACE", do_rename, RENAME_NOREPLACE_},
    {"rename EXCHANGE", do_rename, RENAME_EXCHANGE_},
    {"rename NOREPLACE EXCHANGE", do_rename, RENAME_NOREPLACE_ | RENAME_EXCHANGE_},
    {"rename wrong flag", do_rename, 64},
    {"link", do_link, 0},
    {"link FOLLOW", do_link, AT_SYMLINK_FOLLOW},
    {"link EMPTY_PATH", do_link, AT_EMPTY_PATH},
    {"link wrong flag", do_link, 1},
    {"rename folder to O_PATH", do_at, 0 | 1 << 2},
    {"rename O_PATH to folder", do_at, 1 | 0 << 2},
    {"rename file to folder", do_at, 2 | 0 << 2},
    {"rename folder to nothing", do_at, 0 | 3 << 2},
    {"link folder to O_PATH", do_at, 0 | 1 << 2 | 16},
    {"link nothing to folder", do_at, 3 | 0 << 2 | 16},
};

static const char *const paths[] = {
    "new",       "file",   "other",      "hard",     "dir",    "empty",    "dir/file",    "dir/sub",
    "dir/sub/x", "link",   "dirlink",    "dangling", "loop",   "fifo",     "socket",      "new/",
    "file/",     "dir/",   "dirlink/",   ".",        "..",     "dir/..",   "empty/.",     "",
    "no/new",    "file/x", "rodir/file", "rodir/x",  "sgid/x", "closed/x", "dirlink/new", "../scene/dir/up",
};

int main(int argc, char **argv) {
    size_t step = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    must(getcwd(base, sizeof base) ? 0 : -1, "getcwd");
    renew_scene(base);
    umask(022);
    list_scene(&pristine);
    size_t count = sizeof paths / sizeof paths[0];
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        for (size_t i = c % step; i < count * count; i += step) {
            const char *from = paths[i / count], *to = paths[i % count];
            printf("%s %s %s ", calls[c].name, from, to);
            print_result(calls[c].call(from, to, calls[c].variant));
            settle(base, &pristine);
        }
    }
    must(chdir(base), base);
    remove_tree("scene");
    return 0;
}
