/* Names that come, go and move, by the kernel alone and through the broker. */
#include "both_ways.h"

#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>

static const char *const empty_path = "";
static const char name_255[256] = {[0 ... 254] = 'n'}, name_256[257] = {[0 ... 255] = 'n'};

static void folders(struct records *records) {
    RUN(CALL(mkdirat, HERE, P("new"), 0777), CALL(mkdirat, HERE, P("new"), 0777),
        CALL(mkdirat, HERE, P("new/deep/"), 07777), CALL(mkdirat, HERE, P("file"), 0777),
        CALL(mkdirat, HERE, P("dangling"), 0777), CALL(mkdirat, HERE, P("dangling/"), 0777),
        CALL(mkdirat, HERE, P("to-dir/x"), 0700), CALL(mkdirat, HERE, P("to-link/../y"), 0700),
        CALL(mkdirat, HERE, P("file/x"), 0777), CALL(mkdirat, HERE, P("missing/x"), 0777),
        CALL(mkdirat, HERE, P("closed/x"), 0777), CALL(mkdirat, HERE, P("loop-a/x"), 0777),
        CALL(mkdirat, HERE, P("more0/x"), 0777), CALL(mkdirat, HERE, P("."), 0777),
        CALL(mkdirat, HERE, P("dir/.."), 0777), CALL(mkdirat, HERE, P("/"), 0777),
        CALL(mkdirat, HERE, P(empty_path), 0777), CALL(mkdirat, HERE, P(NULL), 0777),
        CALL(mkdirat, HERE, P(long_path), 0777), CALL(mkdirat, HERE, P(name_255), 0777),
        CALL(mkdirat, HERE, P(name_256), 0777), CALL(mkdirat, CHILD_FOLDER, P("x"), 0777),
        CALL(mkdirat, CHILD_FOLDER, P("made"), 0777), CALL(mkdirat, CHILD_FILE, P("x"), 0777),
        CALL(mkdirat, 12345, P("x"), 0777), CALL(mkdirat, (uint64_t)-1, P("/proc/self/cwd/z"), 0777),
        CALL(mkdirat, HERE, P("/proc/self/fd/61/w"), 0777), CALL(mkdirat, HERE, P("/dev/fd/60/w"), 0777),
        CALL(mkdirat, HERE, P("/etc/new"), 0777), CALL(mkdirat, HERE, P("frozen/inner"), 0777),
        CALL(mkdirat, HERE, P("frozen/folder"), 0777), CALL(mkdirat, HERE, P("to-frozen"), 0777),
        CALL(umask, 077), CALL(mkdirat, HERE, P("masked"), 0777), CALL(umask, 022));
}

static void nodes_and_symlinks(struct records *records) {
    RUN(CALL(mknodat, HERE, P("node"), 0640, 0), CALL(mknodat, HERE, P("node-file"), S_IFREG | 0666, 0),
        CALL(mknodat, HERE, P("node-fifo"), S_IFIFO | 06777, 0),
        CALL(mknodat, HERE, P("node-socket"), S_IFSOCK | 0600, 0),
        CALL(mknodat, HERE, P("node-device"), S_IFCHR | 0666, 0x103),
        CALL(mknodat, HERE, P("node-whiteout"), S_IFCHR, 0), CALL(mknodat, HERE, P("node-file"), 0600, 0),
        CALL(mknodat, HERE, P("node/"), S_IFREG, 0), CALL(mknodat, HERE, P("slash/"), S_IFREG, 0),
        CALL(mknodat, HERE, P("missing/x"), S_IFREG, 0), CALL(mknodat, HERE, P("dangling"), S_IFREG, 0));
    RUN(CALL(mknodat, HERE, P("folder"), S_IFDIR | 0777, 0),
        CALL(mknodat, HERE, P("missing/x"), S_IFDIR | 0777, 0), CALL(mknodat, HERE, P(NULL), S_IFDIR, 0),
        CALL(mknodat, 12345, P("x"), S_IFLNK, 0), CALL(mknodat, HERE, P(empty_path), S_IFMT, 0),
        CALL(mknodat, HERE, P("frozen/node"), S_IFDIR, 0), CALL(mknodat, HERE, P("frozen/node"), S_IFMT, 0),
        CALL(mknodat, HERE, P("frozen/fifo"), S_IFIFO | 0600, 0));
    RUN(CALL(symlinkat, P("anything"), HERE, P("link")), CALL(symlinkat, P("again"), HERE, P("link")),
        CALL(symlinkat, P("x"), HERE, P("dangling")), CALL(symlinkat, P("x"), HERE, P("link/")),
        CALL(symlinkat, P("x"), HERE, P("slash/")), CALL(symlinkat, P("x"), CHILD_FOLDER, P("link")),
        CALL(symlinkat, P("x"), HERE, P("missing/x")), CALL(symlinkat, P(""), HERE, P("missing/x")),
        CALL(symlinkat, P(""), HERE, P(NULL)), CALL(symlinkat, P(long_path), HERE, P("file/x")),
        CALL(symlinkat, P(NULL), HERE, P("missing/x")), CALL(symlinkat, P("x"), HERE, P(NULL)),
        CALL(symlinkat, P("x"), HERE, P("")), CALL(symlinkat, P(""), HERE, P("frozen/empty")),
        CALL(symlinkat, P("x"), HERE, P("frozen/link")));
}

static void links(struct records *records) {
    const uint64_t follow = AT_SYMLINK_FOLLOW, empty = AT_EMPTY_PATH;
    int own = open("dir/file", O_RDONLY);
    dup2(own, 70);
    close(own);
    RUN(CALL(linkat, HERE, P("file"), HERE, P("hard"), 0), CALL(linkat, HERE, P("file"), HERE, P("hard"), 0),
        CALL(linkat, HERE, P("to-file"), HERE, P("hard-link"), 0),
        CALL(linkat, HERE, P("to-file"), HERE, P("hard-followed"), follow),
        CALL(linkat, HERE, P("dangling"), HERE, P("hard-dangling"), 0),
        CALL(linkat, HERE, P("dangling"), HERE, P("x"), follow),
        CALL(linkat, HERE, P("dir"), HERE, P("x"), 0), CALL(linkat, HERE, P("to-dir/"), HERE, P("x"), 0),
        CALL(linkat, HERE, P("file/"), HERE, P("x"), 0), CALL(linkat, HERE, P("file"), HERE, P("x/"), 0),
        CALL(linkat, HERE, P("file"), HERE, P("missing/x"), 0),
        CALL(linkat, HERE, P("missing"), HERE, P("closed/x"), 0),
        CALL(linkat, HERE, P("closed/x"), HERE, P("missing/x"), 0),
        CALL(linkat, HERE, P("closed/x"), HERE, P(NULL), 0),
        CALL(linkat, HERE, P("missing"), HERE, P(NULL), 0), CALL(linkat, HERE, P("file"), HERE, P(NULL), 0),
        CALL(linkat, HERE, P(NULL), HERE, P(""), 0), CALL(linkat, HERE, P(""), HERE, P("x"), 0),
        CALL(linkat, HERE, P("file"), HERE, P("x"), 1), CALL(linkat, HERE, P(NULL), HERE, P(NULL), 1),
        CALL(linkat, HERE, P("/proc/self/fd/70"), HERE, P("by-proc"), follow),
        CALL(linkat, HERE, P("/proc/self/fd/70"), HERE, P("x"), 0),
        CALL(linkat, CHILD_FOLDER, P("file"), CHILD_FOLDER, P("hard"), 0),
        CALL(linkat, CHILD_FILE, P("x"), 12345, P("y"), 0));
    RUN(CALL(linkat, 70, P(""), HERE, P("by-descriptor"), empty),
        CALL(linkat, 70, P(""), HERE, P("by-descriptor"), empty),
        CALL(linkat, 70, P(""), HERE, P("missing/x"), empty), CALL(linkat, 70, P(""), HERE, P("x"), 0),
        CALL(linkat, HERE, P(""), HERE, P("x"), empty), CALL(linkat, 12345, P(""), HERE, P("x"), empty),
        CALL(linkat, 70, P("file"), HERE, P("x"), empty), CALL(linkat, 70, P(""), HERE, P("frozen/x"), empty),
        CALL(linkat, HERE, P("frozen/file"), HERE, P("x"), 0),
        CALL(linkat, HERE, P("file"), HERE, P("frozen/hard"), 0),
        CALL(linkat, HERE, P("frozen/file"), HERE, P("frozen/same"), 0),
        CALL(linkat, HERE, P("missing"), HERE, P("frozen/nothing"), 0));
}

static void removals(struct records *records) {
    const uint64_t folder = AT_REMOVEDIR;
    RUN(CALL(unlinkat, HERE, P("hard"), 0), CALL(unlinkat, HERE, P("hard"), 0),
        CALL(unlinkat, HERE, P("link"), 0), CALL(unlinkat, HERE, P("to-dir/"), 0),
        CALL(unlinkat, HERE, P("node/"), 0), CALL(unlinkat, HERE, P("dir"), 0),
        CALL(unlinkat, HERE, P("."), 0), CALL(unlinkat, HERE, P("dir/.."), 0),
        CALL(unlinkat, HERE, P("/"), 0), CALL(unlinkat, HERE, P(""), 0), CALL(unlinkat, HERE, P(NULL), 0),
        CALL(unlinkat, HERE, P("closed/file"), 0), CALL(unlinkat, HERE, P("file/x"), 0),
        CALL(unlinkat, HERE, P(name_256), 0), CALL(unlinkat, CHILD_FOLDER, P("link"), 0),
        CALL(unlinkat, 12345, P("x"), 0), CALL(unlinkat, HERE, P(NULL), AT_EMPTY_PATH),
        CALL(unlinkat, HERE, P("node"), 0x1000), CALL(unlinkat, 12345, P("x"), 1),
        CALL(unlinkat, HERE, P("/etc/passwd"), 0));
    RUN(CALL(unlinkat, HERE, P("new/deep"), folder), CALL(unlinkat, HERE, P("new/"), folder),
        CALL(unlinkat, HERE, P("dir"), folder), CALL(unlinkat, HERE, P("file"), folder),
        CALL(unlinkat, HERE, P("to-dir/"), folder), CALL(unlinkat, HERE, P("to-dir"), folder),
        CALL(unlinkat, HERE, P("."), folder), CALL(unlinkat, HERE, P("dir/."), folder),
        CALL(unlinkat, HERE, P("dir/.."), folder), CALL(unlinkat, HERE, P("/"), folder),
        CALL(unlinkat, HERE, P("missing"), folder), CALL(unlinkat, HERE, P("frozen"), folder),
        CALL(unlinkat, HERE, P("frozen/"), folder), CALL(unlinkat, HERE, P("frozen"), 0),
        CALL(unlinkat, HERE, P("frozen-file"), 0), CALL(unlinkat, HERE, P("frozen-file"), folder),
        CALL(unlinkat, HERE, P("frozen/file"), 0), CALL(unlinkat, HERE, P("frozen/file/"), 0),
        CALL(unlinkat, HERE, P("frozen/missing"), 0), CALL(unlinkat, HERE, P("frozen/inner"), folder),
        CALL(unlinkat, HERE, P(name_256), folder));
}

#define RENAME(from, to, flags) CALL(renameat2, HERE, P(from), HERE, P(to), flags)

static void renames(struct records *records) {
    const uint64_t keep = RENAME_NOREPLACE, swap = RENAME_EXCHANGE, whiteout = RENAME_WHITEOUT;
    RUN(RENAME("file", "renamed", 0), RENAME("file", "x", 0), RENAME("renamed", "file", keep),
        RENAME("file", "to-file", keep), RENAME("file", "dir", 0), RENAME("dir", "file", 0),
        RENAME("dir", "dir/sub/x", 0), RENAME("dir/sub", "dir", 0), RENAME("file", "file", 0),
        RENAME("by-proc", "dir/hard", 0), RENAME("hard-link", "link-renamed/", 0),
        RENAME("masked/", "masked-renamed/", 0), RENAME("file", "x/", 0), RENAME("file/", "x", 0),
        RENAME("node", "node-fifo", swap), RENAME("node", "missing", swap), RENAME("dir", "node", swap),
        RENAME("node", "dir", swap), RENAME("node-file", "over", whiteout), RENAME(".", "x", 0),
        RENAME("x", ".", 0), RENAME("missing", "..", keep), RENAME("/", "x", 0), RENAME("file", "/", 0));
    RUN(RENAME("closed/x", "missing/x", 0), RENAME("closed/x", "file/x", 0), RENAME("closed/x", "", 0),
        RENAME("closed/x", NULL, 0), RENAME("missing/x", "closed/x", 0), RENAME("", NULL, 0),
        RENAME("file", NULL, 0), RENAME(NULL, "closed/x", 0), RENAME("file", "closed/x", 0),
        RENAME(NULL, NULL, 8), RENAME("missing/x", "file/x", keep | swap), RENAME("x", NULL, swap | whiteout),
        CALL(renameat2, CHILD_FILE, P("x"), CHILD_FOLDER, P("file/x"), 0),
        CALL(renameat2, CHILD_FILE, P("x"), 12345, P("x"), 0),
        CALL(renameat2, 12345, P("x"), CHILD_FILE, P("x"), 0),
        CALL(renameat2, CHILD_FOLDER, P("hard"), HERE, P("hard"), 0), RENAME("/etc/passwd", "/etc/x", 0));
    RUN(RENAME("frozen", "x", 0), RENAME("frozen/", "x", 0), RENAME("frozen", "frozen", 0),
        RENAME("frozen", "dir", 0), RENAME("frozen", "file", 0), RENAME("frozen", "file", swap),
        RENAME("frozen", "missing", swap), RENAME("frozen", "file", keep), RENAME("frozen", ".", 0),
        RENAME("file", "frozen", 0), RENAME("file", "frozen", keep), RENAME("dir", "frozen", 0),
        RENAME("missing", "frozen", 0), RENAME("frozen-file", "x", 0), RENAME("frozen-file", "x/", 0),
        RENAME("frozen-file/", "x", 0), RENAME("frozen-file", "frozen", 0), RENAME("dir", "frozen-file", 0),
        RENAME("file", "frozen-file", swap), RENAME("frozen/file", "x", 0), RENAME("file", "frozen/moved", 0),
        RENAME("frozen/file", "frozen/other", 0), RENAME("frozen/missing", "frozen/other", 0),
        RENAME("frozen/file", "/dev/shm/x", 0));
}

#ifdef __NR_mkdir
static void older_calls(struct records *records) {
    RUN(CALL(mkdir, P("older"), 0700), CALL(mknod, P("older/file"), S_IFREG | 0600, 0),
        CALL(mknod, P("missing/x"), S_IFDIR, 0), CALL(symlink, P("x"), P("older/link")),
        CALL(symlink, P(""), P("missing/x")), CALL(link, P("older/file"), P("older/hard")),
        CALL(link, P("to-file"), P("older/to-file")), CALL(rename, P("older/hard"), P("older/renamed")),
        CALL(rename, P("closed/x"), P("missing/x")), CALL(unlink, P("older/renamed")),
        CALL(unlink, P("older/link")), CALL(unlink, P("older")), CALL(rmdir, P("older")),
        CALL(rmdir, P("older/file")), CALL(rmdir, P("frozen")), CALL(unlink, P("frozen-file")),
        CALL(renameat, HERE, P("older/to-file"), CHILD_FOLDER, P("renamed")));
}
#endif

static int make_calls(void *argument) {
    struct records *records = argument;
    folders(records);
    nodes_and_symlinks(records);
    links(records);
    removals(records);
    renames(records);
#ifdef __NR_mkdir
    older_calls(records);
#endif
    return 0;
}

static const int notified_numbers[] = {
    __NR_mkdirat,  __NR_unlinkat, __NR_renameat2, __NR_linkat, __NR_symlinkat, __NR_mknodat, __NR_umask,
#ifdef __NR_renameat
    __NR_renameat,
#endif
#ifdef __NR_mkdir
    __NR_mkdir,    __NR_unlink,   __NR_rmdir,     __NR_rename, __NR_link,      __NR_symlink, __NR_mknod,
#endif
};

static bool answer_names(struct call *call, struct answer *answer) {
    return broker_names(call, answer) || broker_objects(call, answer);
}

static void reports(struct brokering *how) {
    static const char *const made[] = {"folder", "fifo", "link", "hard", "same", "moved"};
    static const char *const gone[] = {"frozen", "frozen-file", "frozen/file", "frozen/inner"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char path[64];
        snprintf(path, sizeof path, "frozen/%s", made[i]);
        is_reported(how, "file-write-create", path);
    }
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        is_reported(how, "file-write-unlink", gone[i]);
    is_reported(how, "file-write-create", "frozen/x");
    is_reported(how, "file-write-create", "frozen");
    is_reported(how, "file-write-create", "frozen-file");
    nothing_else_is_reported(how);
}

/* --- what the rules refuse --- */

static void make_protected(void) {
    close(open("sticky/.bashrc", O_CREAT | O_WRONLY, 0600));
    if (mkdir("dir/sub/.profile", 0700) != 0)
        abort();
}

#define REFUSED(call) ((call) != 0 && errno == EACCES)
#define FAILS(call, error) ((call) != 0 && errno == (error))

static int make_protected_names(void *unused) {
    (void)unused;
    return REFUSED(mkdir("dir/.bashrc", 0700)) && REFUSED(symlink("file", "dir/.bashrc")) &&
                   REFUSED(link("file", "dir/.bashrc")) && REFUSED(mknod("dir/.bashrc", S_IFIFO, 0)) &&
                   REFUSED(rename("file", "dir/.bashrc")) && REFUSED(rename("dir/up", "dir/.bashrc")) &&
                   REFUSED(renameat2(AT_FDCWD, "file", AT_FDCWD, "sticky/.bashrc", RENAME_EXCHANGE)) &&
                   FAILS(mkdir("sticky/.bashrc", 0700), EEXIST) &&
                   FAILS(symlink("x", "sticky/.bashrc"), EEXIST) &&
                   FAILS(link("file", "sticky/.bashrc"), EEXIST) &&
                   FAILS(renameat2(AT_FDCWD, "file", AT_FDCWD, "sticky/.bashrc", RENAME_NOREPLACE), EEXIST) &&
                   FAILS(rename("missing", "dir/.bashrc"), ENOENT) && access("file", F_OK) == 0
               ? 0
               : 1;
}

static int take_protected_names(void *unused) {
    (void)unused;
    return REFUSED(unlink("sticky/.bashrc")) && REFUSED(rename("sticky/.bashrc", "dir/free")) &&
                   REFUSED(rename("sticky/.bashrc", "sticky/link")) &&
                   REFUSED(link("sticky/.bashrc", "dir/free")) && FAILS(unlink("dir/.bashrc"), ENOENT) &&
                   FAILS(rmdir("dir/.bashrc"), ENOENT) && FAILS(rename("dir/.bashrc", "x"), ENOENT) &&
                   FAILS(link("sticky/.bashrc", "file"), EEXIST)
               ? 0
               : 1;
}

/* What the folder holds moves with it. */
static int move_folders(void *unused) {
    (void)unused;
    return rename("dir", "moved") == 0 && rename("moved", "dir") == 0 && mkdir("other", 0700) == 0 &&
                   renameat2(AT_FDCWD, "dir", AT_FDCWD, "other", RENAME_EXCHANGE) == 0 &&
                   access("other/file", F_OK) == 0
               ? 0
               : 1;
}

/* --- a folder that may be searched now and then --- */

static atomic_bool flipping;

static void *flip(void *unused) {
    int folder = open("flipping", O_RDONLY | O_DIRECTORY);
    (void)unused;
    while (atomic_load(&flipping))
        if (fchmod(folder, 0600) != 0 || fchmod(folder, 0700) != 0)
            abort();
    close(folder);
    return NULL;
}

/* What is mounted stays, whenever the supervisor may look at it and whenever not. */
static int remove_while_flipping(void *unused) {
    pthread_t thread;
    int removed = 0;
    (void)unused;
    atomic_store(&flipping, true);
    if (pthread_create(&thread, NULL, flip, NULL) != 0)
        return 2;
    for (int i = 0; i < 10000 && removed == 0; i++)
        removed += unlink("flipping/frozen") == 0 || rename("flipping/frozen", "moved") == 0 ||
                   rename("file", "flipping/frozen") == 0;
    atomic_store(&flipping, false);
    pthread_join(thread, NULL);
    return removed;
}

int main(void) {
    static struct brokering how = {.broker = answer_names,
                                   .numbers = notified_numbers,
                                   .count = sizeof notified_numbers / sizeof *notified_numbers};
    if (!both_ways(&how, make_calls))
        return done_testing();
    is_int(how.continued, 2, "the kernel makes none of the calls, but for umask");
    reports(&how);
    how.ruled = true;
    how.prepare = make_protected;
    is_int(brokered_run(&how, make_protected_names, NULL), 0, "nothing gets a protected name");
    is_reported(&how, "file-write-create", "dir/.bashrc");
    is_reported(&how, "file-write-create", "sticky/.bashrc");
    nothing_else_is_reported(&how);
    is_int(brokered_run(&how, take_protected_names, NULL), 0, "and nothing loses one");
    is_reported(&how, "file-write-unlink", "sticky/.bashrc");
    is_reported(&how, "file-write-create", "sticky/.bashrc");
    nothing_else_is_reported(&how);
    is_int(brokered_run(&how, move_folders, NULL), 0, "folders move");
    nothing_else_is_reported(&how);
    how.prepare = NULL;
    is_int(brokered_run(&how, remove_while_flipping, NULL), 0, "a mount stays where it is");
    return done_testing();
}
