#include "plan/mount_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

static const char *const sandbox_owned[] = {"/dev", "/proc"};

/* All rules on one path, and what holds there once the marks above are counted in. */
struct mark {
    const struct fs_rule *rule;
    bool grant;
    bool deny_write;
    bool deny_read;
    bool readable;
    bool writable;
};

static int by_path(const void *left, const void *right) {
    const struct mark *a = left;
    const struct mark *b = right;
    return path_compare(a->rule->path, b->rule->path);
}

static bool is_sandbox_owned(const char *path) {
    for (size_t i = 0; i < sizeof sandbox_owned / sizeof sandbox_owned[0]; i++)
        if (path_is_within(path, sandbox_owned[i]))
            return true;
    return false;
}

/* One mark per path, sorted so that a directory stands right before what lies below it. */
static size_t marks_from_rules(const struct fs_rules *rules, struct mark *marks) {
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct fs_rule *rule = &rules->items[i];
        if (is_sandbox_owned(rule->path))
            continue;
        marks[count++] = (struct mark){.rule = rule,
                                       .grant = rule->kind == FS_ALLOW_WRITE,
                                       .deny_write = rule->kind == FS_DENY_WRITE,
                                       .deny_read = rule->kind == FS_DENY_READ};
    }
    qsort(marks, count, sizeof *marks, by_path);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(marks[kept - 1].rule->path, marks[i].rule->path) == 0) {
            marks[kept - 1].grant |= marks[i].grant;
            marks[kept - 1].deny_write |= marks[i].deny_write;
            marks[kept - 1].deny_read |= marks[i].deny_read;
            continue;
        }
        marks[kept++] = marks[i];
    }
    return kept;
}

/* What holds at the mark: a denial above it stays, a grant above it stays unless something denies. */
static void judge(struct mark *mark, const struct mark *above) {
    bool denied_write = mark->deny_write || (above != NULL && above->deny_write);
    bool denied_read = mark->deny_read || (above != NULL && above->deny_read);
    bool granted = mark->grant || (above != NULL && above->grant);
    mark->deny_write = denied_write;
    mark->deny_read = denied_read;
    mark->grant = granted;
    mark->readable = !denied_read;
    mark->writable = granted && !denied_write && !denied_read;
}

static int push_mount(struct mount_plan *plan, enum mount_kind kind, char *path, const struct fs_rule *rule,
                      struct error *err) {
    if (path != NULL && plan->count == plan->capacity) {
        size_t capacity = plan->capacity == 0 ? 16 : plan->capacity * 2;
        struct mount *items = realloc(plan->items, capacity * sizeof *items);
        if (items == NULL) {
            free(path);
            return error_memory(err);
        }
        plan->items = items;
        plan->capacity = capacity;
    }
    if (path == NULL)
        return error_memory(err);
    plan->items[plan->count++] = (struct mount){.kind = kind,
                                                .path = path,
                                                .device = rule != NULL ? rule->device : 0,
                                                .inode = rule != NULL ? rule->inode : 0};
    return 0;
}

static bool is_mounted(const struct mount_plan *plan, const char *path) {
    for (size_t i = plan->count; i-- > 0;)
        if (strcmp(plan->items[i].path, path) == 0)
            return true;
    return false;
}

/* Every directory between the writable mount above and the path: else a rename of one carries the denial
 * away. */
static int push_pins(struct mount_plan *plan, const char *top, const char *path, struct error *err) {
    size_t start = strlen(top) == 1 ? 0 : strlen(top);
    for (const char *slash = strchr(path + start + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char *folder = strndup(path, (size_t)(slash - path));
        if (folder != NULL && is_mounted(plan, folder)) {
            free(folder);
            continue;
        }
        if (push_mount(plan, MOUNT_PIN, folder, NULL, err) != 0)
            return -1;
    }
    return 0;
}

/* top: path of the writable tree that surrounds the mark, NULL where it is read-only there. */
static int push_mark(struct mount_plan *plan, const struct mark *mark, const struct mark *above,
                     const char *top, struct error *err) {
    bool was_readable = above == NULL || above->readable;
    bool was_writable = top != NULL;
    enum mount_kind kind;
    if (!mark->readable) {
        if (!was_readable)
            return 0;
        kind = mark->rule->directory ? MOUNT_MASK_DIR : MOUNT_MASK_FILE;
    } else if (mark->writable != was_writable) {
        kind = mark->writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY;
    } else {
        return 0;
    }
    if (was_writable && push_pins(plan, top, mark->rule->path, err) != 0)
        return -1;
    return push_mount(plan, kind, strdup(mark->rule->path), mark->rule, err);
}

static int push_marks(struct mount_plan *plan, struct mark *marks, size_t count, struct error *err) {
    /* The marks above the current one, outermost first, and of each the writable tree that it belongs to. */
    cleanup_free size_t *above = calloc(count + 1, sizeof *above);
    cleanup_free const char **tops = calloc(count + 1, sizeof *tops);
    size_t depth = 0;
    if (above == NULL || tops == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        while (depth > 0 && !path_is_within(marks[i].rule->path, marks[above[depth - 1]].rule->path))
            depth--;
        const struct mark *outer = depth > 0 ? &marks[above[depth - 1]] : NULL;
        const char *top = depth > 0 ? tops[depth - 1] : NULL;
        judge(&marks[i], outer);
        if (strcmp(marks[i].rule->path, "/") == 0)
            plan->root_writable = marks[i].writable;
        else if (push_mark(plan, &marks[i], outer, top, err) != 0)
            return -1;
        above[depth] = i;
        tops[depth++] = !marks[i].writable ? NULL : top != NULL ? top : marks[i].rule->path;
    }
    return 0;
}

int mount_plan_build(const struct fs_rules *rules, struct mount_plan *out, struct error *err) {
    *out = (struct mount_plan){0};
    cleanup_free struct mark *marks = calloc(rules->count + 1, sizeof *marks);
    if (marks == NULL)
        return error_memory(err);
    size_t count = marks_from_rules(rules, marks);
    if (count > 0 && marks[0].deny_read && strcmp(marks[0].rule->path, "/") == 0)
        return error_set(err, ERROR_HOST, 0, "the whole file system would be hidden");
    if (push_marks(out, marks, count, err) == 0)
        return 0;
    mount_plan_clear(out);
    return -1;
}

void mount_plan_clear(struct mount_plan *plan) {
    for (size_t i = 0; i < plan->count; i++)
        free(plan->items[i].path);
    free(plan->items);
    *plan = (struct mount_plan){0};
}
