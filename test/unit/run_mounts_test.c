/* A plan with masks and holes, mounted in namespaces of the test's own, and looked at without capabilities.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/mount_check.h"
#include "exec/run_mounts.h"
#include "exec/session_tree.h"
#include "exec/statx.h"
#include "tap.h"

/* --- the tree --- */

static char top[64];

struct node {
    const char *name;
    const char *text; /* FOLDER, or a file's content, or behind "->" a link's text */
};
#define FOLDER NULL

static const struct node nodes[] = {
    {"region", FOLDER},
    {"region/secret", "secret"},
    {"region/folder", FOLDER},
    {"region/folder/inner", "secret"},
    {"region/to-hole", "->mid/./deep/../deep/read/file"},
    {"region/to-way", "->mid"},
    {"region/to-elsewhere", "->/etc/hostname"},
    {"region/file", "file hole"},
    {"region/linked", "->../outside/target"},
    {"region/shown", "->../outside/target"},
    {"region/mid", FOLDER},
    {"region/mid/secret", "secret"},
    {"region/mid/back", "->../work/file"},
    {"region/mid/shown", "->../../outside"},
    {"region/mid/deep", FOLDER},
    {"region/mid/deep/secret", "secret"},
    {"region/mid/deep/read", FOLDER},
    {"region/mid/deep/read/file", "read hole"},
    {"region/mid/deep/read/denied", FOLDER},
    {"region/mid/deep/read/denied/secret", "secret"},
    {"region/mid/deep/read/hidden", "secret"},
    {"region/mid/deep/read/again", FOLDER},
    {"region/mid/deep/read/again/secret", "secret"},
    {"region/mid/deep/read/again/way", FOLDER},
    {"region/mid/deep/read/again/way/open", FOLDER},
    {"region/mid/deep/read/again/way/open/file", "inner hole"},
    {"region/work", FOLDER},
    {"region/work/file", "work hole"},
    {"region/work/kept", "kept"},
    {"region/inside", FOLDER},
    {"region/inside/secret", "secret"},
    {"region/inside/open", "nested"},
    {"region/mask", FOLDER},
    {"region/mask-file", "secret"},
    {"outside", FOLDER},
    {"outside/target", "linked hole"},
    {"many", FOLDER},
    {"many/open", FOLDER},
};
enum { MANY = 1200 };

struct planned {
    enum mount_kind kind;
    const char *name;
};

static const struct planned plans[] = {
    {MOUNT_MASK_HOLES, "many"},
    {MOUNT_READ_ONLY, "many/open"},
    {MOUNT_MASK_HOLES, "region"},
    {MOUNT_READ_ONLY, "region/file"},
    {MOUNT_MASK_HOLES, "region/inside"},
    {MOUNT_READ_ONLY, "region/inside/open"},
    {MOUNT_READ_ONLY, "region/linked"},
    {MOUNT_MASK_DIR, "region/mask"},
    {MOUNT_MASK_FILE, "region/mask-file"},
    {MOUNT_READ_ONLY, "region/mid/deep/read"},
    {MOUNT_MASK_HOLES, "region/mid/deep/read/again"},
    {MOUNT_READ_ONLY, "region/mid/deep/read/again/way/open"},
    {MOUNT_MASK_DIR, "region/mid/deep/read/denied"},
    {MOUNT_MASK_FILE, "region/mid/deep/read/hidden"},
    {MOUNT_LINK, "region/mid/shown"},
    {MOUNT_LINK, "region/shown"},
    {MOUNT_WRITABLE, "region/work"},
    {MOUNT_READ_ONLY, "region/work/kept"},
};
enum { PLANS = sizeof plans / sizeof plans[0] };

static void write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(124);
    close(fd);
}

static void make_nodes(void) {
    char name[64];
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        const char *text = nodes[i].text;
        if (text == FOLDER)
            mkdir(nodes[i].name, 0755);
        else if (strncmp(text, "->", 2) != 0)
            write_text(nodes[i].name, text);
        else if (symlink(text + 2, nodes[i].name) != 0)
            _exit(124);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%d", i);
        write_text(name, "secret");
    }
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

/* --- the namespaces --- */

static void map_id(const char *file, unsigned id) {
    char text[32];
    snprintf(text, sizeof text, "%u %u 1", id, id);
    write_text(file, text);
}

static bool enter_namespaces(void) {
    unsigned uid = geteuid();
    unsigned gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    write_text("/proc/self/setgroups", "deny");
    map_id("/proc/self/uid_map", uid);
    map_id("/proc/self/gid_map", gid);
    return true;
}

static void drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &header, none) != 0)
        _exit(124);
}

/* --- looking --- */

static int errno_of(int result) {
    if (result > 0)
        close(result);
    return result < 0 ? errno : 0;
}

static int open_errno(const char *path, int flags) {
    return errno_of(open(path, flags | O_CLOEXEC, 0644));
}

static bool is_refused(int errnum) {
    return errnum == EACCES || errnum == EROFS || errnum == EPERM || errnum == EBUSY || errnum == EXDEV;
}

static void reads(const char *path, const char *wanted) {
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : got] = '\0';
    is_str(text, wanted, path);
}

static void look_at_masks(void) {
    static const char *const folders[] = {"region",
                                          "region/mid",
                                          "region/mid/deep",
                                          "region/to-way",
                                          "region/folder",
                                          "region/inside",
                                          "region/mask",
                                          "region/mid/deep/read/denied",
                                          "region/mid/deep/read/again",
                                          "region/mid/deep/read/again/way",
                                          "many"};
    static const char *const files[] = {"region/secret",
                                        "region/folder/inner",
                                        "region/to-elsewhere",
                                        "region/mid/secret",
                                        "region/mid/deep/secret",
                                        "region/to-way/secret",
                                        "region/inside/secret",
                                        "region/mask-file",
                                        "region/mid/deep/read/hidden",
                                        "region/mid/deep/read/denied/secret",
                                        "region/mid/deep/read/again/secret"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[128];
        is_int(open_errno(folders[i], O_RDONLY | O_DIRECTORY), EACCES, folders[i]);
        snprintf(path, sizeof path, "%s/new", folders[i]);
        ok(is_refused(open_errno(path, O_WRONLY | O_CREAT)), "%s takes no new file", folders[i]);
        ok(is_refused(errno_of(mkdir(path, 0755))), "%s takes no new folder", folders[i]);
        ok(is_refused(errno_of(chmod(folders[i], 0755))), "%s keeps its mode", folders[i]);
        ok(is_refused(errno_of(rename(folders[i], "region/work/moved"))), "%s cannot be moved", folders[i]);
        snprintf(path, sizeof path, "%s-moved", folders[i]);
        ok(is_refused(errno_of(rename(folders[i], path))), "%s cannot be renamed", folders[i]);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        is_int(open_errno(files[i], O_RDONLY), EACCES, files[i]);
        ok(is_refused(open_errno(files[i], O_WRONLY)), "%s cannot be written", files[i]);
        ok(is_refused(errno_of(unlink(files[i]))), "%s cannot be removed", files[i]);
        ok(is_refused(errno_of(link(files[i], "region/work/linked"))), "%s cannot be linked", files[i]);
    }
    is_int(open_errno("region/none", O_RDONLY), ENOENT, "what is not there is not there");
}

static void look_at_holes(void) {
    reads("region/file", "file hole");
    reads("region/linked", "linked hole");
    reads("region/shown", "linked hole");
    reads("region/mid/shown/target", "linked hole");
    reads("region/mid/deep/read/file", "read hole");
    reads("region/to-hole", "read hole");
    reads("region/to-way/deep/read/file", "read hole");
    reads("region/mid/back", "work hole");
    reads("region/mid/deep/read/again/way/open/file", "inner hole");
    reads("region/inside/open", "nested");
    reads("region/work/kept", "kept");
    is_int(open_errno("region/mid/deep/read", O_RDONLY | O_DIRECTORY), 0, "a hole can be listed");
    is_int(open_errno("region/mid/deep/read/new", O_WRONLY | O_CREAT), EROFS, "and not written");
    is_int(open_errno("region/file", O_WRONLY), EROFS, "nor a hole that is a file");
    is_int(open_errno("region/linked", O_WRONLY), EROFS, "nor one that is a link outside");
    is_int(open_errno("region/work/new", O_WRONLY | O_CREAT), 0, "a writable hole can be written");
    is_int(open_errno("region/work/kept", O_WRONLY), EROFS, "but for what is read-only in it");
    is_int(errno_of(unlink("region/work/kept")), EBUSY, "and stays there");
}

static void look_at_many(void) {
    char path[64];
    int closed = 0;
    int missing = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "many/%d", i);
        int errnum = open_errno(path, O_RDONLY);
        closed += errnum == EACCES;
        missing += errnum == ENOENT;
    }
    is_int(closed + missing, MANY, "none of many files can be read");
    ok(closed >= 990 && closed <= 1000, "a thousand of them are denied by name (%d)", closed);
    is_int(open_errno("many/open", O_RDONLY), 0, "the hole among them is open");
}

/* With all capabilities of a namespace further in, what bwrap and a command could have at most. */
static void attack_mounts(void) {
    static const char *const covers[] = {"region", "region/work", "region/mid/deep/read/denied",
                                         "region/mask", "many"};
    for (size_t i = 0; i < sizeof covers / sizeof covers[0]; i++) {
        const char *path = covers[i];
        ok(umount2(path, MNT_DETACH) != 0, "%s cannot be unmounted further in", path);
        if (strcmp(path, "region/work") != 0)
            ok(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) != 0, "%s stays read-only", path);
    }
    ok(mount(NULL, "region", NULL, MS_REMOUNT, "mode=0755") != 0, "a skeleton keeps its mode");
    ok(is_refused(errno_of(rename("region/mid", "region/moved"))), "a way cannot be renamed");
    ok(is_refused(errno_of(rmdir("region/folder"))), "a placeholder cannot be removed");
    ok(is_refused(errno_of(unlink("region/secret"))), "nor one that is a file");
    ok(mount("region", "outside", NULL, MS_BIND, NULL) != 0, "a skeleton is not bound without its holes");
    bool bound = mount("region", "outside", NULL, MS_BIND | MS_REC, NULL) == 0;
    is_int(bound ? open_errno("outside/secret", O_WRONLY) : EROFS, EROFS, "and with them it is what it was");
    reads("region/secret", "");
    reads("region/folder/inner", "");
}

/* --- the plan --- */

static char paths[PLANS][128];

static void identify(struct payload_mount *mount, const struct planned *planned, char *path) {
    struct stat facts;
    snprintf(path, sizeof paths[0], "%s/%s", top, planned->name);
    if (stat(path, &facts) != 0)
        _exit(124);
    *mount = (struct payload_mount){
        .kind = planned->kind, .device = facts.st_dev, .inode = facts.st_ino, .path = path};
}

static void check_mounts(const struct payload_mount *mounts) {
    char text[512];
    char path[160];
    for (size_t i = 0; i < PLANS; i++) {
        bool fine = mount_check(&mounts[i], text, sizeof text) == 0;
        if (!ok(fine, "%s is as planned", plans[i].name))
            diag("text", text);
    }
    struct payload_mount other = mounts[2];
    other.kind = MOUNT_MASK_DIR;
    is_int(mount_check(&other, text, sizeof text), -1, "a skeleton is no closed mask");
    other = mounts[7];
    other.kind = MOUNT_MASK_HOLES;
    is_int(mount_check(&other, text, sizeof text), -1, "a closed mask is no skeleton");
    static const struct {
        const char *name;
        int result;
    } denials[] = {{"region", 0},       {"region/mid", 0},   {"region/secret", 0},
                   {"region/mask", 0},  {"region/none", 0},  {"region/mid/deep/read/again", 0},
                   {"region/file", -1}, {"region/work", -1}, {"outside/target", -1}};
    for (size_t i = 0; i < sizeof denials / sizeof denials[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", top, denials[i].name);
        is_int(denial_check(path, true, text, sizeof text), denials[i].result, denials[i].name);
    }
}

/* A process of its own that has no capability, in namespaces further in, or all of those. */
static void in_child(void (*look)(void), bool capable) {
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) {
        int status = -1;
        waitpid(child, &status, 0);
        /* Its checks were counted there. */
        tap_state.run += (unsigned)WEXITSTATUS(status);
        ok(WIFEXITED(status) && WEXITSTATUS(status) != 255, "the child has looked at everything");
        return;
    }
    unsigned before = tap_state.run;
    if (!enter_namespaces() || chdir(top) != 0)
        _exit(255);
    if (!capable)
        drop_capabilities();
    look();
    fflush(stdout);
    _exit(tap_state.failed > 0 ? 255 : (int)(tap_state.run - before));
}

static int run(void) {
    char text[512] = "";
    struct payload_mount mounts[PLANS];
    for (size_t i = 0; i < PLANS; i++)
        identify(&mounts[i], &plans[i], paths[i]);
    struct payload payload = {.mounts = mounts, .mount_count = PLANS};
    ok(enter_namespaces() && session_tree_make() == 0, "there is a session's tree");
    if (!ok(run_mounts_make(&payload, text, sizeof text) == 0, "the plan can be mounted"))
        diag("text", text);
    check_mounts(mounts);
    in_child(look_at_masks, false);
    in_child(look_at_holes, false);
    in_child(look_at_many, false);
    in_child(attack_mounts, true);
    return done_testing();
}

/* In a tree of its own each: a plan that what is there does not fit, and what is said of it. */
static void refuses(size_t number, uint64_t inode_offset, const char *name) {
    fflush(stdout);
    pid_t child = fork();
    int status = -1;
    if (child != 0) {
        waitpid(child, &status, 0);
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", name);
        return;
    }
    char text[512] = "";
    struct payload_mount mounts[PLANS];
    for (size_t i = 0; i < PLANS; i++)
        identify(&mounts[i], &plans[i], paths[i]);
    mounts[number].inode += inode_offset;
    struct payload payload = {.mounts = mounts, .mount_count = PLANS};
    bool refused = enter_namespaces() && session_tree_make() == 0 &&
                   run_mounts_make(&payload, text, sizeof text) != 0 &&
                   strstr(text, plans[number].name) != NULL;
    _exit(refused ? 0 : 1);
}

int main(void) {
    snprintf(top, sizeof top, "/var/tmp/os-sandbox-mounts-XXXXXX");
    if (mkdtemp(top) == NULL || chdir(top) != 0)
        return 124;
    make_nodes();
    refuses(2, 1, "a region that is not the planned one is an error");
    refuses(3, 1, "a hole that is not the planned one is an error");
    refuses(6, 1, "a hole whose link leads elsewhere is an error");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int result = run();
        fflush(stdout);
        _exit(result);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (chdir("/") == 0)
        nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
