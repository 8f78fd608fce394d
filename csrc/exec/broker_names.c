/* mkdir, mknod, symlink, link, unlink, rmdir: made here, relative to descriptors of the folders. */
#include "exec/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/names.h"
#include "exec/refusal.h"
#include "exec/target.h"
#include "exec/walk.h"

/* --- new names --- */

/* A name that is being made. */
struct making {
    struct side *side;
    enum rule_act act; /* RULE_CREATE, RULE_SYMLINK */
    int removal;       /* how it is taken away again: flags of unlinkat */
    struct refusal refusal;
};

static bool side_is_there(struct side *side) {
    side->exists = false;
    return side_look(side) == 0 && side->exists;
}

/* Finds and judges the place. False: *answer says what came of it. */
static bool begin_making(struct call *call, struct side *side, enum rule_act act, struct making *making,
                         struct answer *answer) {
    making->side = side;
    making->act = act;
    making->removal = 0;
    if (!side_find(call, side, CREATE, answer))
        return false;
    if (!is_refused_place(call, act, &side->place, &making->refusal))
        return true;
    *answer = side_is_there(side) ? answer_errno(EEXIST) : explain_refusal(call, CREATE, &making->refusal);
    return false;
}

/* What came of the call that made it. */
static struct answer end_making(struct call *call, struct making *making, long result) {
    const struct place *place = &making->side->place;
    int error = result_of(result);
    if (error != 0)
        return explain_place(call, CREATE, place, error);
    if (is_refused_by_now(call, making->act, place, &making->refusal)) {
        unlinkat(place->parent, name_of(place), making->removal);
        return explain_refusal(call, CREATE, &making->refusal);
    }
    note_place(call, place);
    return answer_value(0);
}

static struct answer make_folder(struct call *call, struct names *names) {
    const struct place *place = &names->first.place;
    struct making making;
    struct answer answer;
    if (!begin_making(call, &names->first, RULE_CREATE, &making, &answer))
        return answer;
    making.removal = AT_REMOVEDIR;
    umask(target_umask(call));
    return end_making(call, &making,
                      syscall(SYS_mkdirat, place->parent, name_of(place), (mode_t)names->extra));
}

static struct answer make_node(struct call *call, struct names *names) {
    const struct place *place = &names->first.place;
    struct making making;
    struct answer answer;
    if (!begin_making(call, &names->first, RULE_CREATE, &making, &answer))
        return answer;
    umask(target_umask(call));
    return end_making(
        call, &making,
        syscall(SYS_mknodat, place->parent, name_of(place), (mode_t)names->extra, (unsigned)names->device));
}

static struct answer make_symlink(struct call *call, struct names *names) {
    const struct place *place = &names->second.place;
    struct making making;
    struct answer answer;
    /* The kernel looks at the text first. */
    if (names->first.path[0] == '\0')
        return answer_errno(ENOENT);
    if (!begin_making(call, &names->second, RULE_SYMLINK, &making, &answer))
        return answer;
    return end_making(call, &making,
                      syscall(SYS_symlinkat, names->first.path, place->parent, name_of(place)));
}

/* --- links --- */

static long link_to(const struct names *names, int object) {
    const struct place *from = &names->first.place;
    const struct place *to = &names->second.place;
    char own[32];
    if (place_is_plain(from))
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
    struct refusal refusal;
    struct making making;
    struct answer answer;
    bool is_descriptor = from->path[0] == '\0' && (names->extra & AT_EMPTY_PATH) != 0;
    bool follow = (names->extra & AT_SYMLINK_FOLLOW) != 0;
    cleanup_fd int object = is_descriptor
                                ? target_folder(call, from->dirfd)
                                : walk_to_object(call, from->dirfd, from->path, follow, &from->place);
    if (object < 0)
        return answer_errno(-object);
    struct stat facts;
    bool is_link = fstat(object, &facts) == 0 && S_ISLNK(facts.st_mode);
    if (!begin_making(call, &names->second, is_link ? RULE_SYMLINK : RULE_CREATE, &making, &answer))
        return answer;
    if (is_refused_object(call, RULE_WRITE, object, &refusal))
        return side_is_there(&names->second) ? answer_errno(EEXIST) : explain_refusal(call, CREATE, &refusal);
    return end_making(call, &making, link_to(names, object));
}

/* --- names that go --- */

/* Such a folder would not go anyway; git tries. What cannot be listed may be empty. */
static bool is_filled(const struct place *place) {
    cleanup_fd int folder = place_open(place);
    int fd = folder < 0 ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    unsigned count = 0;
    if (listing == NULL) {
        close_fd(&fd);
        return false;
    }
    while (count <= 2 && readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count > 2;
}

static int remove_at(const struct side *side, int flags) {
    const struct place *place = &side->place;
    bool wants_folder = (flags & AT_REMOVEDIR) != 0;
    if (!side->facts.mount_root)
        return result_of(syscall(SYS_unlinkat, place->parent, name_of(place), flags));
    int error = error_of_mount(place);
    if (error == EBUSY && side_is_folder(side) != wants_folder)
        return wants_folder ? ENOTDIR : EISDIR;
    return error;
}

/* What is not there, or of another kind, could not be removed anyway. */
static struct answer refuse_removal(struct call *call, const struct side *side, int error, bool wants_folder,
                                    const struct refusal *refusal) {
    if (!side->exists)
        return answer_errno(ENOENT);
    if (error == 0 && side_is_folder(side) != wants_folder)
        return answer_errno(wants_folder ? ENOTDIR : EISDIR);
    return explain_refusal(call, UNLINK, refusal);
}

static struct answer remove_with(struct call *call, struct side *side, int flags) {
    struct refusal refusal;
    struct answer answer;
    if (!side_find(call, side, UNLINK, &answer))
        return answer;
    bool forbidden =
        place_is_entry(&side->place) && is_refused_place(call, RULE_REMOVE, &side->place, &refusal);
    int error = side_look(side);
    if (forbidden)
        return refuse_removal(call, side, error, (flags & AT_REMOVEDIR) != 0, &refusal);
    if (error == 0)
        error = remove_at(side, flags);
    /* On a read-only mount the kernel says EROFS before it looks whether there is anything. */
    if (error == 0 || !side->exists ||
        (error == EBUSY && (flags & AT_REMOVEDIR) != 0 && is_filled(&side->place)))
        return answer_errno(error);
    return side_refused(call, UNLINK, side, error);
}

static struct answer remove_name(struct call *call, struct names *names) {
    return remove_with(call, &names->first, (int)names->extra);
}

static struct answer remove_folder(struct call *call, struct names *names) {
    return remove_with(call, &names->first, AT_REMOVEDIR);
}

/* --- what the kernel refuses before it looks at any path --- */

static int wrong_removal(uint64_t flags) {
    return ((unsigned)flags & ~(unsigned)AT_REMOVEDIR) != 0 ? EINVAL : 0;
}

static int wrong_link(uint64_t flags) {
    return ((unsigned)flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0 ? EINVAL : 0;
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
        *answer = answer_errno(names.first.error == EPERM ? EACCES : names.first.error);
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
