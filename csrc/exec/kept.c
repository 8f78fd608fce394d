#include "exec/kept.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "exec/remount.h"

#define WHY_SIZE 4096

struct kept {
    struct watch *watch;
    void *data; /* the payload; MAP_FAILED: none */
    size_t size;
    struct payload payload;
    struct kept_mount *mounts;
    size_t count;
    bool is_due;
    char *why; /* shared with the children; NULL before the first */
};

static int read_payload(struct kept *kept, int payload) {
    struct stat facts;
    kept->data = MAP_FAILED;
    if (fstat(payload, &facts) != 0)
        return -1;
    kept->size = (size_t)facts.st_size;
    if (kept->size > 0)
        kept->data = mmap(NULL, kept->size, PROT_READ, MAP_PRIVATE, payload, 0);
    if (kept->data == MAP_FAILED)
        return -1;
    errno = EPROTO;
    return payload_decode(kept->data, kept->size, &kept->payload);
}

static bool is_there(const struct kept *kept, const struct watch_place *place) {
    for (size_t i = 0; i < kept->count; i++)
        if (kept->mounts[i].place == place)
            return true;
    return false;
}

static int add(struct kept *kept, uint32_t kind, const char *path) {
    struct watch_place *place = watch_path(kept->watch, path);
    if (place == NULL)
        return -1;
    kept->mounts[kept->count++] = (struct kept_mount){.kind = kind, .path = path, .place = place};
    return 0;
}

/* What the plan has already is held by that. */
static int add_unplanned(struct kept *kept, uint32_t kind, const char *path) {
    struct watch_place *place = watch_path(kept->watch, path);
    bool planned = place != NULL && is_there(kept, place);
    watch_leave(kept->watch, place);
    return planned ? 0 : add(kept, kind, path);
}

/* It may have appeared since the run was planned; once it is watched that cannot be missed. */
static int add_later(struct kept *kept, const struct payload_mount *mount) {
    size_t count = kept->count;
    if (add_unplanned(kept, mount->kind, mount->path) != 0)
        return -1;
    if (kept->count > count && watch_exists(kept->watch, kept->mounts[count].place))
        kept->is_due = kept->mounts[count].look = true;
    return 0;
}

/* What is not mounted any more can then only do less, but for what denies. */
static bool is_restored(enum mount_kind kind) {
    return kind != MOUNT_WRITABLE && kind != MOUNT_LINK && kind != MOUNT_FOLDER &&
           !mount_kind_is_private(kind);
}

static int add_all(struct kept *kept) {
    const struct payload *payload = &kept->payload;
    kept->mounts = calloc(payload->mount_count + payload->later_count + payload->read_denied_count +
                              payload->write_denied_count + 1,
                          sizeof *kept->mounts);
    if (kept->mounts == NULL)
        return -1;
    for (size_t i = 0; i < payload->mount_count; i++)
        if (is_restored((enum mount_kind)payload->mounts[i].kind) &&
            add(kept, payload->mounts[i].kind, payload->mounts[i].path) != 0)
            return -1;
    for (size_t i = 0; i < payload->later_count; i++)
        if (add_later(kept, &payload->later[i]) != 0)
            return -1;
    /* As they were written: a symlink on the way may come to lead elsewhere. What they lead to at the start
     * is in the plan, and the stage looks whether it still is. */
    for (size_t i = 0; i < payload->read_denied_count; i++)
        if (add_unplanned(kept, MOUNT_MASK_FILE, payload->read_denied[i]) != 0)
            return -1;
    for (size_t i = 0; i < payload->write_denied_count; i++)
        if (add_unplanned(kept, MOUNT_READ_ONLY, payload->write_denied[i]) != 0)
            return -1;
    return 0;
}

struct kept *kept_new(struct watch *watch, int payload) {
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    kept->watch = watch;
    if (read_payload(kept, payload) == 0 && (watch == NULL || add_all(kept) == 0))
        return kept;
    int errnum = errno;
    kept_free(kept);
    errno = errnum;
    return NULL;
}

void kept_free(struct kept *kept) {
    if (kept == NULL)
        return;
    for (size_t i = 0; i < kept->count; i++) {
        watch_leave(kept->watch, kept->mounts[i].place);
        watch_leave(kept->watch, kept->mounts[i].target);
    }
    free(kept->mounts);
    payload_release(&kept->payload);
    if (kept->data != MAP_FAILED)
        munmap(kept->data, kept->size);
    if (kept->why != NULL)
        munmap(kept->why, WHY_SIZE);
    free(kept);
}

const struct payload *kept_payload(const struct kept *kept) {
    return &kept->payload;
}

/* A path that leads elsewhere now is watched there as well: what is there may be replaced, too. */
static void follow(struct kept *kept, struct kept_mount *mount) {
    char real[PATH_MAX];
    watch_leave(kept->watch, mount->target);
    mount->target = NULL;
    if (realpath(mount->path, real) != NULL && strcmp(real, mount->path) != 0)
        mount->target = watch_path(kept->watch, real);
}

void kept_hear(struct kept *kept) {
    for (size_t i = 0; i < kept->count; i++) {
        struct kept_mount *mount = &kept->mounts[i];
        if (!watch_changed(kept->watch, mount->place) &&
            (mount->target == NULL || !watch_changed(kept->watch, mount->target)))
            continue;
        kept->is_due = mount->look = true;
        follow(kept, mount);
    }
}

bool kept_is_due(const struct kept *kept) {
    return kept->is_due;
}

static char *shared_memory(void) {
    void *memory = mmap(NULL, WHY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

pid_t kept_restore(struct kept *kept, pid_t stage, int stage_pidfd) {
    if (kept->why == NULL && (kept->why = shared_memory()) == NULL)
        return -1;
    kept->why[0] = '\0';
    const struct remount remount = {.stage = stage,
                                    .stage_pidfd = stage_pidfd,
                                    .mounts = kept->mounts,
                                    .count = kept->count,
                                    .why = kept->why,
                                    .why_size = WHY_SIZE};
    pid_t child = remount_fork(&remount);
    if (child < 0)
        return -1;
    kept->is_due = false;
    for (size_t i = 0; i < kept->count; i++)
        kept->mounts[i].look = false;
    return child;
}

const char *kept_why(const struct kept *kept) {
    return kept->why == NULL ? "" : kept->why;
}
