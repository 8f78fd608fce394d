#include "exec/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/target.h"
#include "exec/walk_link.h"

/* path_resolution(7) */
#define LINKS_MAX 40u

/* Where a path starts, and what is asked of its end. */
struct journey {
    struct call *call;
    int start;  /* O_PATH */
    bool owned; /* the start, which then may become the place's */
    const char *path;
    bool follow;
};

static int open_strictly(int folder, const char *path, uint64_t flags, uint64_t resolve) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_NO_SYMLINKS | resolve};
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

static int duplicate(int fd) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return copy < 0 ? -errno : copy;
}

static void place_empty(struct place *place) {
    place->parent = -1;
    place->name[0] = '\0';
}

void place_clear(struct place *place) {
    close_fd(&place->parent);
    place->name[0] = '\0';
}

/* Moves the folder into the place; name: length bytes, cut where there are too many for a path, and a slash
 * where there was one behind it. */
static void place_fill(struct place *place, int *folder, const char *name, size_t length, bool slash) {
    place->parent = steal_fd(folder);
    if (length > sizeof place->name - 2)
        length = sizeof place->name - 2;
    memcpy(place->name, name, length);
    if (slash)
        place->name[length++] = '/';
    place->name[length] = '\0';
}

static bool is_dots(const char *name, size_t length) {
    return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

static const char *skip_slashes(const char *path) {
    return path + strspn(path, "/");
}

/* --- by components --- */

struct walk {
    const struct journey *journey;
    int folder;       /* owned */
    int above;        /* owned; where the folder was found by its name; -1 */
    char *path;       /* owned; NULL: the journey's own */
    const char *rest; /* what is still to be walked */
    unsigned links;
};

struct component {
    char name[PATH_MAX];
    const char *text; /* in rest; name and all behind it */
    size_t length;
    const char *tail; /* in rest, right behind it */
    bool last;
};

/* The next component. False: there is none, the path is the folder itself. */
static bool next_component(const struct walk *walk, struct component *out) {
    out->text = skip_slashes(walk->rest);
    out->length = strcspn(out->text, "/");
    out->tail = out->text + out->length;
    out->last = *skip_slashes(out->tail) == '\0';
    snprintf(out->name, sizeof out->name, "%.*s", (int)out->length, out->text);
    return out->length > 0;
}

/* The link's text is walked next, and then what stands behind the link. */
static int path_replace(struct walk *walk, const char *text, const char *tail) {
    char *path = NULL;
    if (asprintf(&path, "%s%s", text, tail) < 0)
        return ENOMEM;
    free(walk->path);
    walk->path = path;
    walk->rest = path;
    return 0;
}

/* A jump: by a link, to the root. */
static void folder_replace(struct walk *walk, int folder) {
    close_fd(&walk->folder);
    close_fd(&walk->above);
    walk->folder = folder;
}

static void step_into(struct walk *walk, const struct component *component, int folder) {
    close_fd(&walk->above);
    walk->above = walk->folder;
    walk->folder = folder;
    walk->rest = component->tail;
}

/* An object that was reached in one jump. */
static int step_onto(struct walk *walk, const struct component *component, int object, struct place *out,
                     bool *done) {
    cleanup_fd int fd = object;
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return errno;
    if (*component->tail != '\0' && !S_ISDIR(facts.st_mode))
        return ENOTDIR;
    *done = component->last;
    if (*done) {
        place_fill(out, &fd, "", 0, false);
        return 0;
    }
    folder_replace(walk, steal_fd(&fd));
    walk->rest = component->tail;
    return 0;
}

static int follow_link(struct walk *walk, const struct component *component, int fd, struct place *out,
                       bool *done) {
    struct link link = {.folder = walk->folder, .name = component->name, .fd = fd, .last = component->last};
    char text[PATH_MAX];
    int object;
    if (++walk->links > LINKS_MAX)
        return ELOOP;
    int error = link_read(walk->journey->call, &link, text, &object);
    if (error != 0)
        return error;
    if (object >= 0)
        return step_onto(walk, component, object, out, done);
    if (text[0] == '/') {
        int root = duplicate(walk->journey->call->supervisor->root);
        if (root < 0)
            return -root;
        folder_replace(walk, root);
    }
    return path_replace(walk, text, component->tail);
}

/* Where a folder may not be searched, that may be for the supervisor alone. */
static int step_past(struct walk *walk, const struct component *component, int error, struct place *out,
                     bool *done) {
    if (error != EACCES)
        return error;
    int object = link_own_descriptor(walk->journey->call, walk->above, walk->folder, component->name);
    return object < 0 ? -object : step_onto(walk, component, object, out, done);
}

/* One component further, or to the place (*done). */
static int step(struct walk *walk, const struct component *component, struct place *out, bool *done) {
    bool slash = *component->tail == '/';
    *done = component->last && (!walk->journey->follow || is_dots(component->text, component->length));
    if (*done) {
        place_fill(out, &walk->folder, component->text, component->length, slash);
        return 0;
    }
    if (component->length >= sizeof component->name)
        return ENAMETOOLONG;
    /* A folder first: as one, it is mounted where autofs mounts on demand. */
    cleanup_fd int fd = -1;
    if (!component->last) {
        fd = openat(walk->folder, component->name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            step_into(walk, component, steal_fd(&fd));
            return 0;
        }
        if (errno != ENOTDIR)
            return step_past(walk, component, errno, out, done);
    }
    struct stat facts;
    fd = openat(walk->folder, component->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &facts) != 0)
        return errno;
    if (fd >= 0 && S_ISLNK(facts.st_mode))
        return follow_link(walk, component, fd, out, done);
    if (!component->last)
        return fd >= 0 ? ENOTDIR : errno;
    if (fd < 0 && errno != ENOENT)
        return step_past(walk, component, errno, out, done);
    *done = true;
    place_fill(out, &walk->folder, component->text, component->length, slash);
    return 0;
}

static int walk_slowly(const struct journey *journey, struct place *out) {
    struct walk walk = {
        .journey = journey, .folder = duplicate(journey->start), .above = -1, .rest = journey->path};
    struct component component = {.text = ""};
    bool done = false;
    int error = walk.folder < 0 ? -walk.folder : 0;
    place_empty(out);
    while (error == 0 && !done) {
        if (next_component(&walk, &component)) {
            error = step(&walk, &component, out, &done);
        } else {
            place_fill(out, &walk.folder, "", 0, false);
            done = true;
        }
    }
    if (error == EACCES)
        place_fill(out, &walk.folder, component.text, strlen(component.text), false);
    close_fd(&walk.folder);
    close_fd(&walk.above);
    free(walk.path);
    return error;
}

/* --- in one step --- */

/* The length of the path up to its last component, which is *name, *length bytes; 0: there is none. */
static size_t split(const char *path, const char **name, size_t *length) {
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    *name = path + start;
    *length = end - start;
    return start;
}

/* The folder of the last component: the start, or opened for the caller. Or -errno. */
static int open_parent(const struct journey *journey, size_t length) {
    char path[PATH_MAX];
    if (length == 0)
        return journey->start;
    memcpy(path, journey->path, length);
    path[length] = '\0';
    return open_strictly(journey->start, path, O_DIRECTORY, path[0] == '/' ? RESOLVE_IN_ROOT : 0);
}

/*
 * ELOOP where the name in the folder, with nothing but slashes behind it, is a symlink's; else what a lookup
 * says, but for ENOENT.
 */
static int error_of_link(int folder, const char *name, size_t length) {
    char own[PATH_MAX];
    char text;
    memcpy(own, name, length);
    own[length] = '\0';
    if (readlinkat(folder, own, &text, sizeof text) >= 0)
        return ELOOP;
    return errno == EINVAL || errno == ENOENT ? 0 : errno;
}

/* ELOOP: a symlink is on the way. */
static int walk_fast(struct journey *journey, struct place *out) {
    const char *name;
    size_t length;
    size_t parent_length = split(journey->path, &name, &length);
    int parent = open_parent(journey, parent_length);
    cleanup_fd int opened = parent_length > 0 ? parent : -1;
    place_empty(out);
    if (parent < 0)
        return -parent;
    bool follows = journey->follow && length > 0 && !is_dots(name, length);
    int error = follows ? error_of_link(parent, name, length) : 0;
    if (error != 0)
        return error;
    if (parent_length == 0) {
        opened = journey->owned ? journey->start : duplicate(journey->start);
        journey->owned = false;
        if (opened < 0)
            return -opened;
    }
    place_fill(out, &opened, name, length, length > 0 && name[length] == '/');
    return 0;
}

/* --- */

static int walk_any(struct journey *journey, struct place *out) {
    int error = walk_fast(journey, out);
    if (error == 0)
        return 0;
    place_clear(out);
    /* EAGAIN: something was moved meanwhile (openat2(2)); EACCES: it is to be told where. */
    return error == ELOOP || error == EAGAIN || error == EACCES ? walk_slowly(journey, out) : error;
}

/* Where the path starts: 0, or an errno. What is read of the command before is looked at here (target.h). */
static int start_open(struct journey *journey, int dirfd) {
    const char *path = journey->path;
    if (path[0] == '\0')
        return ENOENT;
    if (strnlen(path, PATH_MAX) == PATH_MAX)
        return ENAMETOOLONG;
    journey->owned = path[0] != '/';
    if (journey->owned)
        journey->start = target_folder(journey->call, dirfd);
    else
        journey->start = target_waits(journey->call) ? journey->call->supervisor->root : -ESRCH;
    return journey->start < 0 ? -journey->start : 0;
}

int walk_to_place(struct call *call, int dirfd, const char *path, bool follow, struct place *out) {
    struct journey journey = {.call = call, .path = path, .follow = follow};
    place_empty(out);
    int error = start_open(&journey, dirfd);
    if (error != 0)
        return error;
    error = walk_any(&journey, out);
    if (journey.owned)
        close_fd(&journey.start);
    return error;
}

int place_open(const struct place *place) {
    if (place->name[0] == '\0')
        return duplicate(place->parent);
    return open_strictly(place->parent, place->name, O_NOFOLLOW, 0);
}

int walk_to_object(struct call *call, int dirfd, const char *path, bool follow, struct place *place) {
    /* The slash behind a symlink's name makes it followed (path_resolution(7)). */
    size_t length = strlen(path);
    bool follows = follow || (length > 0 && path[length - 1] == '/');
    int error = walk_to_place(call, dirfd, path, false, place);
    if (error != 0)
        return -error;
    int object = place->name[0] == '\0'
                     ? duplicate(place->parent)
                     : open_strictly(place->parent, place->name, follows ? 0 : O_NOFOLLOW, 0);
    if ((object != -ELOOP && object != -EACCES) || !follows)
        return object;
    place_clear(place);
    error = walk_to_place(call, dirfd, path, true, place);
    return error != 0 ? -error : place_open(place);
}

/* --- what they are called --- */

bool object_path(int fd, char *into, size_t size) {
    static const char deleted[] = " (deleted)";
    char link[64];
    char path[PATH_MAX];
    into[0] = '\0';
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return false;
    if (length == 0 || path[0] != '/')
        return true;
    path[length] = '\0';
    size_t suffix = sizeof deleted - 1;
    struct stat facts;
    /* A name may end so. */
    if ((size_t)length > suffix && strcmp(path + length - suffix, deleted) == 0 && fstat(fd, &facts) == 0 &&
        facts.st_nlink == 0)
        path[(size_t)length - suffix] = '\0';
    return (size_t)snprintf(into, size, "%s", path) < size;
}

bool place_path(const struct place *place, char *into, size_t size) {
    char folder[PATH_MAX];
    size_t length = strlen(place->name);
    while (length > 0 && place->name[length - 1] == '/')
        length--;
    if (strcmp(place->name, "..") == 0 || strcmp(place->name, "../") == 0) {
        cleanup_fd int above = place_open(place);
        return object_path(above, into, size);
    }
    bool whole = object_path(place->parent, folder, sizeof folder);
    int written = folder[0] == '\0' || length == 0 || is_dots(place->name, length)
                      ? snprintf(into, size, "%s", folder)
                      : snprintf(into, size, "%s/%.*s", strcmp(folder, "/") == 0 ? "" : folder, (int)length,
                                 place->name);
    return whole && (size_t)written < size;
}
