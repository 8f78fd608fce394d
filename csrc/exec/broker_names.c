/* mkdir, mknod, symlink, link, rename, unlink, rmdir: made here, relative to descriptors of the folders. */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/statx.h"
#include "exec/target.h"
#include "exec/walk.h"

#define CREATE "file-write-create"
#define UNLINK "file-write-unlink"

/* A path of a call, and where it leads. */
struct side {
    int dirfd;
    int error; /* of reading the path */
    char path[PATH_MAX];
    struct place place;
    /* What lies there (look). */
    bool exists;
    struct file_facts facts;
};

struct names {
    struct side first;
    struct side second;
    uint64_t extra; /* the mode, or the flags */
    uint64_t device;
};

/* --- what they share --- */

static int result_of(long result) {
    return result == 0 ? 0 : errno;
}

/*
 * The name for a call. Where there is none the path was "/" or as good: it stands for itself, in any root,
 * and no such call changes anything there.
 */
static const char *name_of(const struct place *place) {
    return place->name[0] == '\0' ? "/" : place->name;
}

static int walk_side(struct call *call, struct side *side) {
    return side->error != 0 ? side->error : walk_to_place(call, side->dirfd, side->path, false, &side->place);
}

/* Walks to the place. False: *answer says what came of it. */
static bool find(struct call *call, struct side *side, const char *operation, struct answer *answer) {
    int error = walk_side(call, side);
    if (error != 0)
        *answer = explain_place(call, operation, &side->place, error);
    return error == 0;
}

/* The same for a new name that the supervisor is to make. */
static bool find_new(struct call *call, struct side *side, struct answer *answer) {
    if (!find(call, side, CREATE, answer))
        return false;
    if (!is_left_to_kernel(call, side->place.parent))
        return true;
    *answer = answer_continue();
    return false;
}

static struct answer made(struct call *call, const struct side *side, long result) {
    int error = result_of(result);
    return error == 0 ? answer_value(0) : explain_place(call, CREATE, &side->place, error);
}

/* True where the name alone says what is meant: the kernel follows what has a slash behind it. */
static bool is_plain(const struct place *place) {
    size_t length = strlen(place->name);
    return length > 0 && place->name[length - 1] != '/';
}

/* False for ".", ".." and "/", which no call renames or removes. */
static bool is_entry(const struct place *place) {
    size_t length = strcspn(place->name, "/");
    return length > 0 && strncmp(place->name, "..", length) != 0;
}

/*
 * What lies at the place. The kernel keeps mount points from being renamed and removed in the caller's own
 * mount namespace only (is_local_mountpoint in fs/namei.c), and the supervisor's is the host's: so they are
 * told here. This is no race: by no call inside does a name become a mount point, or cease to be one. But it
 * has to be seen each time, by an error that goes away until the call is made as well: so 0 where nothing is
 * there, or a slash behind the name of no folder, which the call refuses too; else the errno is the answer.
 */
static int look(struct side *side) {
    const struct place *place = &side->place;
    int error;
    if (!is_entry(place))
        return 0;
    if (is_plain(place)) {
        error = result_of(file_facts_at(place->parent, place->name, &side->facts));
    } else {
        cleanup_fd int object = place_open(place);
        error = object < 0 ? -object : result_of(file_facts_of(object, &side->facts));
    }
    side->exists = error != ENOENT && error != ENAMETOOLONG;
    return side->exists && error != ENOTDIR && error != ELOOP ? error : 0;
}

/* The answer for a name that could not go, or be taken. */
static struct answer refused(struct call *call, const char *operation, const struct side *side, int error) {
    bool by_mount = error != EBUSY || side->facts.mount_root;
    return is_entry(&side->place) && by_mount ? explain_place(call, operation, &side->place, error)
                                              : answer_errno(error);
}

static bool is_folder(const struct side *side) {
    return S_ISDIR(side->facts.mode);
}

/* --- new names --- */

static struct answer make_folder(struct call *call, struct names *names) {
    const struct place *place = &names->first.place;
    struct answer answer;
    if (!find_new(call, &names->first, &answer))
        return answer;
    umask(target_umask(call));
    return made(call, &names->first,
                syscall(SYS_mkdirat, place->parent, name_of(place), (mode_t)names->extra));
}

static struct answer make_node(struct call *call, struct names *names) {
    const struct place *place = &names->first.place;
    struct answer answer;
    if (!find_new(call, &names->first, &answer))
        return answer;
    umask(target_umask(call));
    return made(
        call, &names->first,
        syscall(SYS_mknodat, place->parent, name_of(place), (mode_t)names->extra, (unsigned)names->device));
}

static struct answer make_symlink(struct call *call, struct names *names) {
    const struct place *place = &names->second.place;
    struct answer answer;
    /* The kernel looks at the text first. */
    if (names->first.path[0] == '\0')
        return answer_errno(ENOENT);
    if (!find_new(call, &names->second, &answer))
        return answer;
    return made(call, &names->second,
                syscall(SYS_symlinkat, names->first.path, place->parent, name_of(place)));
}

/* --- links --- */

static long link_to(const struct names *names, int object) {
    const struct place *from = &names->first.place;
    const struct place *to = &names->second.place;
    char own[32];
    if (is_plain(from))
        return syscall(SYS_linkat, from->parent, from->name, to->parent, name_of(to), 0);
    /*
     * A mere descriptor may be linked by who opened it (linkat(2), Linux 6.10), and new files were opened
     * here on behalf of the command. So it may link any that it has: as by way of its own /proc/self/fd.
     */
    if (from->parent < 0)
        return syscall(SYS_linkat, object, "", to->parent, name_of(to), AT_EMPTY_PATH);
    snprintf(own, sizeof own, "/proc/self/fd/%d", object);
    return syscall(SYS_linkat, AT_FDCWD, own, to->parent, name_of(to), AT_SYMLINK_FOLLOW);
}

static struct answer make_link(struct call *call, struct names *names) {
    struct side *from = &names->first;
    struct answer answer;
    bool is_descriptor = from->path[0] == '\0' && (names->extra & AT_EMPTY_PATH) != 0;
    bool follow = (names->extra & AT_SYMLINK_FOLLOW) != 0;
    cleanup_fd int object = is_descriptor
                                ? target_folder(call, from->dirfd)
                                : walk_to_object(call, from->dirfd, from->path, follow, &from->place);
    if (object < 0)
        return answer_errno(-object);
    if (!find_new(call, &names->second, &answer))
        return answer;
    return made(call, &names->second, link_to(names, object));
}

/* --- names that go --- */

/* What the kernel says of a mount point that could go otherwise. */
static int error_of_mount(const struct place *place) {
    if (is_on_read_only_mount(place->parent))
        return EROFS;
    return faccessat(place->parent, ".", W_OK | X_OK, 0) == 0 ? EBUSY : errno;
}

static int remove_at(const struct side *side, int flags) {
    const struct place *place = &side->place;
    bool wants_folder = (flags & AT_REMOVEDIR) != 0;
    if (!side->facts.mount_root)
        return result_of(syscall(SYS_unlinkat, place->parent, name_of(place), flags));
    int error = error_of_mount(place);
    if (error == EBUSY && is_folder(side) != wants_folder)
        return wants_folder ? ENOTDIR : EISDIR;
    return error;
}

static struct answer remove_with(struct call *call, struct side *side, int flags) {
    struct answer answer;
    if (!find(call, side, UNLINK, &answer))
        return answer;
    if (is_left_to_kernel(call, side->place.parent))
        return answer_continue();
    int error = look(side);
    if (error == 0)
        error = remove_at(side, flags);
    /* On a read-only mount the kernel says EROFS before it looks whether there is anything. */
    if (error == 0 || !side->exists)
        return answer_errno(error);
    return refused(call, UNLINK, side, error);
}

static struct answer remove_name(struct call *call, struct names *names) {
    return remove_with(call, &names->first, (int)names->extra);
}

static struct answer remove_folder(struct call *call, struct names *names) {
    return remove_with(call, &names->first, AT_REMOVEDIR);
}

/* --- rename --- */

/* What the kernel says before it looks a name up, having walked to its folder. */
static int search_error(const struct place *place) {
    struct stat facts;
    if (place->name[0] == '\0')
        return 0;
    return result_of(fstatat(place->parent, ".", &facts, 0));
}

/* Walks to both places. False: *answer says what came of it. */
static bool find_both(struct call *call, struct side *from, struct side *to, struct answer *answer) {
    if (!find(call, from, UNLINK, answer))
        return false;
    int error = walk_side(call, to);
    int earlier = error == 0 ? 0 : search_error(&from->place);
    if (earlier != 0)
        *answer = explain_place(call, UNLINK, &from->place, earlier);
    else if (error != 0)
        *answer = explain_place(call, CREATE, &to->place, error);
    return error == 0;
}

static bool is_same_file(const struct side *one, const struct side *other) {
    return one->facts.device == other->facts.device && one->facts.inode == other->facts.inode;
}

static bool has_slash(const struct side *side) {
    return !is_plain(&side->place);
}

/* As do_renameat2() and vfs_rename() of fs/namei.c go on from there, to where they look for mounts: EBUSY. */
static int error_of_mounts(const struct side *from, const struct side *to, unsigned flags) {
    bool exchanges = (flags & RENAME_EXCHANGE) != 0;
    bool replaces = to->exists && !exchanges;
    if (is_on_read_only_mount(from->place.parent))
        return EROFS;
    if (!from->exists || (!to->exists && exchanges))
        return ENOENT;
    if (to->exists && (flags & RENAME_NOREPLACE) != 0)
        return EEXIST;
    if (!is_folder(from) && (has_slash(from) || (!exchanges && has_slash(to))))
        return ENOTDIR;
    if (exchanges && !is_folder(to) && has_slash(to))
        return ENOTDIR;
    if (to->exists && is_same_file(from, to))
        return 0;
    int error = error_of_mount(&from->place);
    if (error == EBUSY)
        error = error_of_mount(&to->place);
    if (error == EBUSY && replaces && is_folder(from) != is_folder(to))
        return is_folder(from) ? ENOTDIR : EISDIR;
    return error;
}

/*
 * Where a mount is involved nothing is to move. Two dots: the kernel says EXDEV where the folders are on
 * different mounts, else EBUSY.
 */
static int rename_mount(const struct side *from, const struct side *to, unsigned flags) {
    int error = result_of(syscall(SYS_renameat2, from->place.parent, ".", to->place.parent, ".", flags));
    return error == EBUSY ? error_of_mounts(from, to, flags) : error;
}

/* Here "/" will not do for the root: it would be on another mount. */
static const char *entry_of(const struct place *place) {
    return place->name[0] == '\0' ? "." : place->name;
}

static int rename_to(const struct names *names) {
    const struct side *from = &names->first;
    const struct side *to = &names->second;
    unsigned flags = (unsigned)names->extra;
    if (is_entry(&from->place) && is_entry(&to->place) && (from->facts.mount_root || to->facts.mount_root))
        return rename_mount(from, to, flags);
    return result_of(syscall(SYS_renameat2, from->place.parent, entry_of(&from->place), to->place.parent,
                             entry_of(&to->place), flags));
}

/* Where the two lie on different volumes a rename fails in any place. */
static bool is_one_volume(const struct place *one, const struct place *other) {
    struct stat facts, others;
    return fstat(one->parent, &facts) == 0 && fstat(other->parent, &others) == 0 &&
           facts.st_dev == others.st_dev;
}

static struct answer rename_refused(struct call *call, const struct side *from, const struct side *to,
                                    int error) {
    if (!from->exists || (error == EXDEV && !is_one_volume(&from->place, &to->place)))
        return answer_errno(error);
    bool first = error == EBUSY ? from->facts.mount_root : is_on_read_only_mount(from->place.parent);
    return first ? refused(call, UNLINK, from, error) : refused(call, CREATE, to, error);
}

static struct answer rename_names(struct call *call, struct names *names) {
    struct side *from = &names->first;
    struct side *to = &names->second;
    struct answer answer;
    if (!find_both(call, from, to, &answer))
        return answer;
    if (is_left_to_kernel(call, from->place.parent) && is_left_to_kernel(call, to->place.parent))
        return answer_continue();
    int error = look(from);
    if (error == 0)
        error = look(to);
    if (error == 0)
        error = rename_to(names);
    return error == 0 ? answer_value(0) : rename_refused(call, from, to, error);
}

/* --- what the kernel refuses before it looks at any path --- */

static int wrong_removal(uint64_t flags) {
    return ((unsigned)flags & ~(unsigned)AT_REMOVEDIR) != 0 ? EINVAL : 0;
}

static int wrong_link(uint64_t flags) {
    return ((unsigned)flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0 ? EINVAL : 0;
}

static int wrong_rename(uint64_t flags) {
    unsigned known = RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;
    bool exchanges = (flags & RENAME_EXCHANGE) != 0;
    bool contradicts = exchanges && (flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)) != 0;
    return ((unsigned)flags & ~known) != 0 || contradicts ? EINVAL : 0;
}

static int wrong_node(uint64_t mode) {
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFCHR:
    case S_IFBLK:
    case S_IFIFO:
    case S_IFSOCK:
        return 0;
    default:
        return (mode & S_IFMT) == S_IFDIR ? EPERM : EINVAL;
    }
}

/* --- the calls --- */

#define NONE 255

/* Where the arguments are: NONE, or a position. */
struct row {
    int number;
    struct answer (*make)(struct call *, struct names *);
    int (*wrong)(uint64_t extra); /* an errno; NULL: nothing is */
    uint8_t dirfd;
    uint8_t path;
    uint8_t to_dirfd;
    uint8_t to_path;
    uint8_t extra;
    uint8_t device;
};

static const struct row rows[] = {
    {__NR_unlinkat, remove_name, wrong_removal, 0, 1, NONE, NONE, 2, NONE},
    {__NR_mkdirat, make_folder, NULL, 0, 1, NONE, NONE, 2, NONE},
    {__NR_renameat2, rename_names, wrong_rename, 0, 1, 2, 3, 4, NONE},
    {__NR_linkat, make_link, wrong_link, 0, 1, 2, 3, 4, NONE},
    {__NR_symlinkat, make_symlink, NULL, NONE, 0, 1, 2, NONE, NONE},
    {__NR_mknodat, make_node, wrong_node, 0, 1, NONE, NONE, 2, 3},
#ifdef __NR_renameat
    {__NR_renameat, rename_names, wrong_rename, 0, 1, 2, 3, NONE, NONE},
#endif
#ifdef __NR_unlink /* x86_64 has these as well */
    {__NR_unlink, remove_name, wrong_removal, NONE, 0, NONE, NONE, NONE, NONE},
    {__NR_rmdir, remove_folder, NULL, NONE, 0, NONE, NONE, NONE, NONE},
    {__NR_mkdir, make_folder, NULL, NONE, 0, NONE, NONE, 1, NONE},
    {__NR_rename, rename_names, wrong_rename, NONE, 0, NONE, 1, NONE, NONE},
    {__NR_link, make_link, wrong_link, NONE, 0, NONE, 1, NONE, NONE},
    {__NR_symlink, make_symlink, NULL, NONE, 0, NONE, 1, NONE, NONE},
    {__NR_mknod, make_node, wrong_node, NONE, 0, NONE, NONE, 1, 2},
#endif
};

static uint64_t argument(const struct call *call, uint8_t position) {
    return position == NONE ? 0 : call->data->args[position];
}

static void read_side(const struct call *call, uint8_t dirfd, uint8_t path, struct side *side) {
    side->dirfd = dirfd == NONE ? AT_FDCWD : (int)call->data->args[dirfd];
    side->error =
        path == NONE ? 0 : target_read_path(call, call->data->args[path], side->path, sizeof side->path);
    side->exists = true;
    side->facts = (struct file_facts){0};
    side->place.parent = -1;
    side->place.name[0] = '\0';
}

/* A process that cannot be read makes no names; what it removes the kernel judges. */
static struct answer unread(const struct row *row) {
    bool removes = row->make == remove_name || row->make == remove_folder;
    return removes ? answer_continue() : answer_errno(EACCES);
}

static void answer_row(struct call *call, const struct row *row, struct answer *answer) {
    struct names names;
    names.extra = argument(call, row->extra);
    names.device = argument(call, row->device);
    int wrong = row->wrong == NULL ? 0 : row->wrong(names.extra);
    if (wrong != 0) {
        *answer = answer_errno(wrong);
        return;
    }
    read_side(call, row->dirfd, row->path, &names.first);
    if (names.first.error != 0) {
        *answer = names.first.error == EPERM ? unread(row) : answer_errno(names.first.error);
        return;
    }
    read_side(call, row->to_dirfd, row->to_path, &names.second);
    *answer = row->make(call, &names);
    place_clear(&names.first.place);
    place_clear(&names.second.place);
}

bool broker_names(struct call *call, struct answer *answer) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].number == call->data->nr) {
            answer_row(call, &rows[i], answer);
            return true;
        }
    }
    return false;
}
