/* rename: made here, relative to descriptors of the folders. */
#include "exec/names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/refusal.h"

/* What the kernel says before it looks a name up, having walked to its folder. */
static int search_error(const struct place *place) {
    struct stat facts;
    if (place->name[0] == '\0')
        return 0;
    return result_of(fstatat(place->parent, ".", &facts, 0));
}

/* Walks to both places. False: *answer says what came of it. */
static bool find_both(struct call *call, struct side *from, struct side *to, struct answer *answer) {
    if (!side_find(call, from, UNLINK, answer))
        return false;
    int error = side_walk(call, to);
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
    return !place_is_plain(&side->place);
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
    if (!side_is_folder(from) && (has_slash(from) || (!exchanges && has_slash(to))))
        return ENOTDIR;
    if (exchanges && !side_is_folder(to) && has_slash(to))
        return ENOTDIR;
    if (to->exists && is_same_file(from, to))
        return 0;
    int error = error_of_mount(&from->place);
    if (error == EBUSY)
        error = error_of_mount(&to->place);
    if (error == EBUSY && replaces && side_is_folder(from) != side_is_folder(to))
        return side_is_folder(from) ? ENOTDIR : EISDIR;
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
    if (place_is_entry(&from->place) && place_is_entry(&to->place) &&
        (from->facts.mount_root || to->facts.mount_root))
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
    return first ? side_refused(call, UNLINK, from, error) : side_refused(call, CREATE, to, error);
}

/* --- the rules --- */

/* One thing that gets another name; with RENAME_EXCHANGE there are two. */
struct moved {
    const struct side *from;
    const struct side *to;
    int object; /* O_PATH of it where it is a folder; -1 */
    uint32_t mode;
    char from_path[2 * PATH_MAX];
    char to_path[2 * PATH_MAX];
};

struct renaming {
    struct call *call;
    struct names *names;
    struct moved moved[2];
    size_t count;
};

/* What is refused, and where. */
struct rename_refusal {
    const char *operation;
    struct refusal refusal;
};

/* 0 or an errno: a folder that cannot be looked at is not moved. end_renaming() in any case. */
static int begin_renaming(struct call *call, struct names *names, struct renaming *out) {
    const struct side *from = &names->first;
    const struct side *to = &names->second;
    out->call = call;
    out->names = names;
    out->count = (names->extra & RENAME_EXCHANGE) != 0 ? 2 : 1;
    int error = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct moved *moved = &out->moved[i];
        moved->from = i == 0 ? from : to;
        moved->to = i == 0 ? to : from;
        moved->object = -1;
        moved->mode = moved->from->facts.mode;
        place_path(&moved->from->place, moved->from_path, sizeof moved->from_path);
        place_path(&moved->to->place, moved->to_path, sizeof moved->to_path);
        if (moved->from->exists && side_is_folder(moved->from))
            moved->object = place_open(&moved->from->place);
        if (moved->object < -1)
            error = -moved->object;
    }
    return error;
}

static void end_renaming(struct renaming *renaming) {
    for (size_t i = 0; i < renaming->count; i++)
        close_fd(&renaming->moved[i].object);
}

/* An entry of the folder that is protected where it is, or would be where it goes. */
static bool is_refused_folder(const struct renaming *renaming, const struct moved *moved,
                              struct rename_refusal *out) {
    if (moved->object < 0)
        return false;
    out->operation = UNLINK;
    snprintf(out->refusal.path, sizeof out->refusal.path, "%s", moved->from_path);
    out->refusal.why =
        rules_refuse_move(renaming->call->supervisor->rules, moved->object, moved->from_path, moved->to_path);
    return out->refusal.why != NULL;
}

static enum rule_act act_at_target(const struct moved *moved) {
    return S_ISLNK(moved->mode) ? RULE_SYMLINK : RULE_CREATE;
}

/* Before anything is done. */
static bool is_refused_rename(const struct renaming *renaming, struct rename_refusal *out) {
    if (renaming->call->supervisor->rules == NULL)
        return false;
    for (size_t i = 0; i < renaming->count; i++) {
        const struct moved *moved = &renaming->moved[i];
        out->operation = UNLINK;
        if (is_refused_place_now(renaming->call, RULE_REMOVE, &moved->from->place, &out->refusal))
            return true;
        out->operation = CREATE;
        if (is_refused_place_now(renaming->call, act_at_target(moved), &moved->to->place, &out->refusal) ||
            is_refused_folder(renaming, moved, out))
            return true;
    }
    return false;
}

/* Names from here on: what has one by now need not be a folder. */
static void cut_slash(struct place *place) {
    place->name[strcspn(place->name, "/")] = '\0';
}

/* What has the new name by now; it need not be what was looked at before. Where it is gone whoever moved it
 * looked. 0 or an errno. */
static int look_again(struct moved *moved) {
    const struct place *place = &moved->to->place;
    struct file_facts facts;
    close_fd(&moved->object);
    int error = result_of(file_facts_at(place->parent, entry_of(place), &facts));
    if (error != 0)
        return error == ENOENT ? 0 : error;
    moved->mode = facts.mode;
    if (!S_ISDIR(facts.mode))
        return 0;
    moved->object = place_open(place);
    return moved->object >= 0 || moved->object == -ENOENT ? 0 : -moved->object;
}

/*
 * After it is done, as things are by now: the folders above may have moved, the folder may have got entries
 * after it was looked through, and the name may have been another thing's.
 */
static bool is_refused_now(struct renaming *renaming, struct rename_refusal *out) {
    for (size_t i = 0; i < renaming->count; i++) {
        struct moved *moved = &renaming->moved[i];
        int error = look_again(moved);
        bool whole = place_path(&moved->to->place, moved->to_path, sizeof moved->to_path);
        out->operation = CREATE;
        if (error != 0 || !whole) {
            snprintf(out->refusal.path, sizeof out->refusal.path, "%s", moved->to_path);
            out->refusal.why = "what was moved cannot be looked at";
            return true;
        }
        if (is_refused_place_now(renaming->call, act_at_target(moved), &moved->to->place, &out->refusal) ||
            is_refused_folder(renaming, moved, out))
            return true;
    }
    return false;
}

/* A name that nobody has, nor can take before. */
static void set_aside(const struct place *place) {
    char free_name[64];
    uint64_t number = 0;
    (void)syscall(SYS_getrandom, &number, sizeof number, 0u);
    snprintf(free_name, sizeof free_name, "os-sandbox-moved-%llx", (unsigned long long)number);
    syscall(SYS_renameat2, place->parent, entry_of(place), place->parent, free_name, RENAME_NOREPLACE);
}

/* Where the old name is another's by now, or its folder is gone, what was moved is set aside. */
static void move_back(const struct renaming *renaming) {
    const struct place *from = &renaming->names->first.place;
    const struct place *to = &renaming->names->second.place;
    unsigned flags = renaming->count == 2 ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (syscall(SYS_renameat2, to->parent, entry_of(to), from->parent, entry_of(from), flags) == 0)
        return;
    for (size_t i = 0; i < renaming->count; i++)
        set_aside(&renaming->moved[i].to->place);
}

static void note_renaming(const struct renaming *renaming) {
    for (size_t i = 0; i < renaming->count; i++) {
        const struct moved *moved = &renaming->moved[i];
        note_path(renaming->call, moved->to_path);
        if (moved->object >= 0)
            rules_note_move(renaming->call->supervisor->rules, moved->from_path, moved->to_path);
    }
}

/* What the kernel says before it would move anything; 0: nothing. */
static int error_before(const struct names *names) {
    const struct side *to = &names->second;
    if (!names->first.exists || (!to->exists && (names->extra & RENAME_EXCHANGE) != 0))
        return ENOENT;
    return to->exists && (names->extra & RENAME_NOREPLACE) != 0 ? EEXIST : 0;
}

static struct answer explain_rename(struct renaming *renaming, const struct rename_refusal *refusal) {
    int error = error_before(renaming->names);
    return error != 0 ? answer_errno(error)
                      : explain_refusal(renaming->call, refusal->operation, &refusal->refusal);
}

/* The rename, judged. False: *error of it; true: *refusal. */
static bool rename_judged(struct renaming *renaming, int *error, struct rename_refusal *refusal) {
    if (is_refused_rename(renaming, refusal))
        return true;
    *error = rename_to(renaming->names);
    if (*error != 0 || renaming->call->supervisor->rules == NULL)
        return false;
    cut_slash(&renaming->names->first.place);
    cut_slash(&renaming->names->second.place);
    bool refused = is_refused_now(renaming, refusal);
    if (refused)
        move_back(renaming);
    else
        note_renaming(renaming);
    return refused;
}

/* Reads up to that many bytes; -1 with errno. */
static ssize_t read_all(int fd, char *into, size_t size) {
    size_t done = 0;
    ssize_t got;
    while (done < size && (got = read(fd, into + done, size - done)) != 0) {
        if (got < 0 && errno != EINTR)
            return -1;
        done += got < 0 ? 0 : (size_t)got;
    }
    return (ssize_t)done;
}

static int open_file(const struct side *side) {
    const struct place *place = &side->place;
    if (!side->exists || !S_ISREG(side->facts.mode) || !place_is_plain(place))
        return -1;
    return openat(place->parent, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* git writes its configuration anew though nothing in it changes (git-submodule(1) update, git-branch(1) -d).
 */
#define SAME_MAX ((size_t)65536)

/* True where a file, which may go, is to replace a protected one that has the same content: then only its own
 * name goes. */
static bool changes_nothing(const struct names *names, const struct rename_refusal *refusal) {
    if (names->extra != 0 || strcmp(refusal->operation, CREATE) != 0 || names->first.facts.mount_root ||
        strcmp(names->second.place.name, "config") != 0)
        return false;
    char *content = malloc(2 * (SAME_MAX + 1));
    cleanup_fd int from = open_file(&names->first);
    cleanup_fd int to = open_file(&names->second);
    bool same = false;
    if (content != NULL && from >= 0 && to >= 0) {
        ssize_t length = read_all(from, content, SAME_MAX + 1);
        ssize_t other = read_all(to, content + SAME_MAX + 1, SAME_MAX + 1);
        same = length >= 0 && (size_t)length <= SAME_MAX && length == other &&
               memcmp(content, content + SAME_MAX + 1, (size_t)length) == 0;
    }
    free(content);
    return same;
}

static struct answer rename_entries(struct call *call, struct names *names) {
    struct renaming renaming;
    struct rename_refusal refusal;
    struct rules *rules = call->supervisor->rules;
    int error = begin_renaming(call, names, &renaming);
    if (error != 0) {
        end_renaming(&renaming);
        return answer_errno(error);
    }
    bool moves =
        rules != NULL && (renaming.moved[0].object >= 0 || renaming.moved[renaming.count - 1].object >= 0);
    if (moves)
        rules_move_begins(rules);
    bool refused = rename_judged(&renaming, &error, &refusal);
    if (moves)
        rules_move_ended(rules);
    if (refused && changes_nothing(names, &refusal)) {
        end_renaming(&renaming);
        return answer_errno(result_of(unlinkat(names->first.place.parent, names->first.place.name, 0)));
    }
    struct answer answer = refused      ? explain_rename(&renaming, &refusal)
                           : error == 0 ? answer_value(0)
                                        : rename_refused(call, &names->first, &names->second, error);
    end_renaming(&renaming);
    return answer;
}

struct answer rename_names(struct call *call, struct names *names) {
    struct side *from = &names->first;
    struct side *to = &names->second;
    struct answer answer;
    if (!find_both(call, from, to, &answer))
        return answer;
    int error = side_look(from);
    if (error == 0)
        error = side_look(to);
    if (error == 0 && place_is_entry(&from->place) && place_is_entry(&to->place))
        return rename_entries(call, names);
    if (error == 0)
        error = rename_to(names);
    return error == 0 ? answer_value(0) : rename_refused(call, from, to, error);
}

/* --- what the kernel refuses before it looks at any path --- */

int wrong_rename(uint64_t flags) {
    unsigned known = RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;
    bool exchanges = (flags & RENAME_EXCHANGE) != 0;
    bool contradicts = exchanges && (flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)) != 0;
    return ((unsigned)flags & ~known) != 0 || contradicts ? EINVAL : 0;
}
