#include "exec/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* IN_ATTRIB: a folder that was closed opens. IN_IGNORED, IN_UNMOUNT and IN_Q_OVERFLOW come unasked. */
#define EVENTS                                                                                               \
    (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB |       \
     IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

#define BUCKETS 4096u

/* Beyond so many the unused ones are dropped. */
#define PLACES_KEPT 8192u

/* What was at a path when it was looked at; all zero: not yet. */
struct sight {
    dev_t device;
    ino_t inode;
    mode_t mode;
    struct timespec changed;
    int errnum;
};

struct watch_place {
    struct watch_place *parent; /* NULL: "/" */
    struct watch_place *children;
    struct watch_place *sibling;
    struct watch_place *next_of_name; /* in the bucket of its parent and name */
    struct watch_place *next_of_wd;   /* in the bucket of its watch */
    struct watch_place *next_changed;
    size_t users;      /* callers and children */
    uint64_t changed;  /* the hearing that found it changed */
    uint64_t asked_at; /* the hearing before which exists was asked; 0: never */
    int wd;            /* -1: not watched. Two paths of one folder have the same. */
    bool exists;
    bool refused; /* it cannot be watched although it may be there: to be tried again */
    bool blind;   /* and yet its files can be reached: what is wanted of it is looked at */
    struct sight sight;
    char name[];
};

struct watch {
    int fd;
    uint64_t hearing; /* its number; the first is 2, so that 0 and 1 mean none */
    uint64_t all_changed;
    struct watch_place *root;
    struct watch_place *changed; /* of the hearing that is going on */
    size_t count;
    size_t limit;
    size_t blind_count;
    struct watch_place *by_name[BUCKETS];
    struct watch_place *by_wd[BUCKETS];
};

/* FNV-1a over the name, begun with the parent's address. */
static struct watch_place **name_bucket(struct watch *watch, const struct watch_place *parent,
                                        const char *name, size_t length) {
    uint32_t hash = 2166136261u ^ (uint32_t)((uintptr_t)parent >> 4);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return &watch->by_name[(hash ^ hash >> 15) % BUCKETS];
}

static struct watch_place **wd_bucket(struct watch *watch, int wd) {
    return &watch->by_wd[(unsigned)wd % BUCKETS];
}

static struct watch_place *find(struct watch *watch, const struct watch_place *parent, const char *name,
                                size_t length) {
    struct watch_place *place = *name_bucket(watch, parent, name, length);
    while (place != NULL && (place->parent != parent || strncmp(place->name, name, length) != 0 ||
                             place->name[length] != '\0'))
        place = place->next_of_name;
    return place;
}

static struct watch_place *next_with_wd(struct watch_place *place, int wd) {
    while (place != NULL && place->wd != wd)
        place = place->next_of_wd;
    return place;
}

/* The kernel's watch goes with the last place that has it. */
static void set_wd(struct watch *watch, struct watch_place *place, int wd, bool remove) {
    int old = place->wd;
    if (old == wd)
        return;
    if (old >= 0) {
        struct watch_place **slot = wd_bucket(watch, old);
        while (*slot != place)
            slot = &(*slot)->next_of_wd;
        *slot = place->next_of_wd;
        if (remove && next_with_wd(*wd_bucket(watch, old), old) == NULL)
            inotify_rm_watch(watch->fd, old);
    }
    place->wd = wd;
    if (wd >= 0) {
        place->next_of_wd = *wd_bucket(watch, wd);
        *wd_bucket(watch, wd) = place;
    }
}

/* The place's path, written from the end of a buffer of PATH_MAX; NULL: too long. */
static const char *path_of(const struct watch_place *place, char *buffer) {
    char *at = buffer + PATH_MAX - 1;
    *at = '\0';
    if (place->parent == NULL)
        *--at = '/';
    for (; place->parent != NULL; place = place->parent) {
        size_t length = strlen(place->name);
        if ((size_t)(at - buffer) < length + 1)
            return NULL;
        at -= length;
        memcpy(at, place->name, length);
        *--at = '/';
    }
    return at;
}

static void set_blind(struct watch *watch, struct watch_place *place, bool blind) {
    watch->blind_count += (blind ? 1u : 0u) - (place->blind ? 1u : 0u);
    place->blind = blind;
}

/* Not inlined: the buffer must not be there once for each level of watch_tree. */
__attribute__((noinline)) static void watch_folder(struct watch *watch, struct watch_place *place) {
    char buffer[PATH_MAX];
    const char *path = path_of(place, buffer);
    int wd = path == NULL ? -1 : inotify_add_watch(watch->fd, path, EVENTS);
    place->refused = wd < 0 && path != NULL && errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    set_blind(watch, place, place->refused && access(path, X_OK) == 0);
    /* What was watched while it could be read is most likely still the same. */
    if (!place->refused)
        set_wd(watch, place, wd, true);
}

/* Parents first: what appears in a folder after it is watched gives an event. */
static void watch_tree(struct watch *watch, struct watch_place *place) {
    if (place->children == NULL)
        return;
    watch_folder(watch, place);
    for (struct watch_place *child = place->children; child != NULL; child = child->sibling)
        watch_tree(watch, child);
}

static struct watch_place *make_place(struct watch *watch, struct watch_place *parent, const char *name,
                                      size_t length) {
    struct watch_place *place = calloc(1, sizeof *place + length + 1);
    if (place == NULL)
        return NULL;
    memcpy(place->name, name, length);
    place->wd = -1;
    watch->count++;
    if (parent == NULL)
        return place;
    struct watch_place **bucket = name_bucket(watch, parent, name, length);
    place->next_of_name = *bucket;
    *bucket = place;
    place->parent = parent;
    place->sibling = parent->children;
    parent->children = place;
    parent->users++;
    return place;
}

/* Unlinks and frees a place that nobody uses, and the folders above it that are then unused. */
static void drop(struct watch *watch, struct watch_place *place) {
    while (place->users == 0 && place->parent != NULL) {
        struct watch_place *parent = place->parent;
        struct watch_place **slot = name_bucket(watch, parent, place->name, strlen(place->name));
        while (*slot != place)
            slot = &(*slot)->next_of_name;
        *slot = place->next_of_name;
        for (slot = &parent->children; *slot != place;)
            slot = &(*slot)->sibling;
        *slot = place->sibling;
        set_wd(watch, place, -1, true);
        set_blind(watch, place, false);
        free(place);
        watch->count--;
        parent->users--;
        place = parent;
    }
    if (place->children == NULL) {
        set_wd(watch, place, -1, true);
        set_blind(watch, place, false);
    }
}

static void drop_unused(struct watch *watch) {
    for (size_t i = 0; i < BUCKETS; i++) {
        struct watch_place *place = watch->by_name[i];
        while (place != NULL) {
            if (place->users > 0) {
                place = place->next_of_name;
                continue;
            }
            drop(watch, place); /* others of this bucket may have gone with it */
            place = watch->by_name[i];
        }
    }
    watch->limit = watch->count * 2 > PLACES_KEPT ? watch->count * 2 : PLACES_KEPT;
}

struct watch *watch_new(void) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch->hearing = 1;
    watch->limit = PLACES_KEPT;
    watch->root = make_place(watch, NULL, "", 0);
    if (watch->root != NULL)
        return watch;
    watch_free(watch);
    errno = ENOMEM;
    return NULL;
}

void watch_free(struct watch *watch) {
    if (watch == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct watch_place *place = watch->by_name[i], *next; place != NULL; place = next) {
            next = place->next_of_name;
            free(place);
        }
    free(watch->root);
    close_fd(&watch->fd);
    free(watch);
}

int watch_fd(const struct watch *watch) {
    return watch->fd;
}

struct watch_place *watch_path(struct watch *watch, const char *path) {
    if (watch->count > watch->limit)
        drop_unused(watch);
    struct watch_place *place = watch->root;
    place->users++; /* each on the way, so that it stays when memory is short further down */
    for (;;) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (length == 0)
            return place;
        struct watch_place *child = find(watch, place, path, length);
        bool is_new = child == NULL;
        if (is_new)
            child = make_place(watch, place, path, length);
        if (place->refused || (place->wd < 0 && is_new))
            watch_folder(watch, place);
        if (child != NULL)
            child->users++;
        watch_leave(watch, place);
        if (child == NULL)
            return NULL;
        place = child;
        path += length;
    }
}

void watch_leave(struct watch *watch, struct watch_place *place) {
    (void)watch;
    if (place != NULL)
        place->users--;
}

static void mark(struct watch *watch, struct watch_place *place) {
    if (place->changed == watch->hearing)
        return;
    place->changed = watch->hearing;
    place->next_changed = watch->changed;
    watch->changed = place;
}

static void hear_event(struct watch *watch, const struct inotify_event *event, const char *name) {
    if (event->mask & IN_Q_OVERFLOW) {
        watch->all_changed = watch->hearing;
        return;
    }
    struct watch_place *place = next_with_wd(*wd_bucket(watch, event->wd), event->wd);
    while (place != NULL) {
        struct watch_place *next = next_with_wd(place->next_of_wd, event->wd);
        if (event->len > 0) {
            struct watch_place *child = find(watch, place, name, strlen(name));
            if (child != NULL)
                mark(watch, child);
        } else {
            mark(watch, place);
        }
        if (event->mask & IN_IGNORED) /* the kernel has removed it */
            set_wd(watch, place, -1, false);
        place = next;
    }
}

/* Each event begins with its fixed part, at an alignment that the buffer's has (inotify(7)). */
static void hear_events(struct watch *watch, const char *data, size_t size) {
    struct inotify_event event;
    for (size_t at = 0; size - at >= sizeof event; at += sizeof event + event.len) {
        memcpy(&event, data + at, sizeof event);
        if (event.len > size - at - sizeof event)
            return;
        hear_event(watch, &event, data + at + sizeof event);
    }
}

static void begin_hearing(struct watch *watch) {
    watch->hearing++;
    watch->changed = NULL;
}

static bool end_hearing(struct watch *watch) {
    for (struct watch_place *place = watch->changed; place != NULL; place = place->next_changed)
        watch_tree(watch, place);
    return watch->changed != NULL;
}

bool watch_hear(struct watch *watch) {
    char data[16384];
    ssize_t got;
    begin_hearing(watch);
    while ((got = read(watch->fd, data, sizeof data)) > 0)
        hear_events(watch, data, (size_t)got);
    if (watch->all_changed == watch->hearing) {
        watch_tree(watch, watch->root);
        return true;
    }
    return end_hearing(watch);
}

/* Whether the path is not what it was at the last look. */
__attribute__((noinline)) static bool looks_changed(struct watch_place *place) {
    char buffer[PATH_MAX];
    const char *path = path_of(place, buffer);
    struct stat facts = {0};
    int errnum = path == NULL ? ENAMETOOLONG : lstat(path, &facts) == 0 ? 0 : errno;
    struct sight now = {
        .device = facts.st_dev, .inode = facts.st_ino, .mode = facts.st_mode, .errnum = errnum};
    /* A new file may have the old one's inode; a folder changes with every name in it. */
    if (!S_ISDIR(facts.st_mode))
        now.changed = facts.st_ctim;
    const struct sight before = place->sight;
    place->sight = now;
    return before.device != now.device || before.inode != now.inode || before.mode != now.mode ||
           before.errnum != now.errnum || before.changed.tv_sec != now.changed.tv_sec ||
           before.changed.tv_nsec != now.changed.tv_nsec;
}

static void look_tree(struct watch *watch, struct watch_place *place) {
    for (struct watch_place *child = place->children; child != NULL; child = child->sibling) {
        if (place->blind && child->users > 0 && looks_changed(child))
            mark(watch, child);
        look_tree(watch, child);
    }
}

bool watch_is_blind(const struct watch *watch) {
    return watch->blind_count > 0;
}

bool watch_look(struct watch *watch) {
    begin_hearing(watch);
    look_tree(watch, watch->root);
    return end_hearing(watch);
}

static bool changed_since(const struct watch *watch, const struct watch_place *place, uint64_t hearing) {
    if (watch->all_changed >= hearing)
        return true;
    for (; place != NULL; place = place->parent)
        if (place->changed >= hearing)
            return true;
    return false;
}

bool watch_changed(const struct watch *watch, const struct watch_place *place) {
    return changed_since(watch, place, watch->hearing);
}

/* Whether an event would have told of a change since the last look. */
static bool is_heard(const struct watch *watch, const struct watch_place *place) {
    if (place->asked_at == 0 || changed_since(watch, place, place->asked_at))
        return false;
    for (const struct watch_place *folder = place->parent; folder != NULL; folder = folder->parent)
        if (folder->refused)
            return false;
    return true;
}

bool watch_exists(const struct watch *watch, struct watch_place *place) {
    if (is_heard(watch, place))
        return place->exists;
    char buffer[PATH_MAX];
    struct stat facts;
    const char *path = path_of(place, buffer);
    place->asked_at = watch->hearing + 1;
    place->exists = path != NULL && (lstat(path, &facts) == 0 || (errno != ENOENT && errno != ENOTDIR));
    return place->exists;
}

size_t watch_place_count(const struct watch *watch) {
    return watch->count;
}
