#include "exec/names.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"

/*
 * The name for a call. Where there is none the path was "/" or as good: it stands for itself, in any root,
 * and no such call changes anything there.
 */
const char *name_of(const struct place *place) {
    return place->name[0] == '\0' ? "/" : place->name;
}

int side_walk(struct call *call, struct side *side) {
    return side->error != 0 ? side->error : walk_to_place(call, side->dirfd, side->path, false, &side->place);
}

/* Walks to the place. False: *answer says what came of it. */
bool side_find(struct call *call, struct side *side, const char *operation, struct answer *answer) {
    int error = side_walk(call, side);
    if (error != 0)
        *answer = explain_place(call, operation, &side->place, error);
    return error == 0;
}

/* True where the name alone says what is meant: the kernel follows what has a slash behind it. */
bool place_is_plain(const struct place *place) {
    size_t length = strlen(place->name);
    return length > 0 && place->name[length - 1] != '/';
}

/* False for ".", ".." and "/", which no call renames or removes. */
bool place_is_entry(const struct place *place) {
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
int side_look(struct side *side) {
    const struct place *place = &side->place;
    int error;
    if (!place_is_entry(place))
        return 0;
    if (place_is_plain(place)) {
        error = result_of(file_facts_at(place->parent, place->name, &side->facts));
    } else {
        cleanup_fd int object = place_open(place);
        error = object < 0 ? -object : result_of(file_facts_of(object, &side->facts));
    }
    side->exists = error != ENOENT && error != ENAMETOOLONG;
    return side->exists && error != ENOTDIR && error != ELOOP ? error : 0;
}

/* The answer for a name that could not go, or be taken. */
struct answer side_refused(struct call *call, const char *operation, const struct side *side, int error) {
    bool by_mount = error != EBUSY || side->facts.mount_root;
    return place_is_entry(&side->place) && by_mount ? explain_place(call, operation, &side->place, error)
                                                    : answer_errno(error);
}

bool side_is_folder(const struct side *side) {
    return S_ISDIR(side->facts.mode);
}

/* What the kernel says of a mount point that could go otherwise. */
int error_of_mount(const struct place *place) {
    if (is_on_read_only_mount(place->parent))
        return EROFS;
    return faccessat(place->parent, ".", W_OK | X_OK, 0) == 0 ? EBUSY : errno;
}
