#include "plan/mount_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

static const char *const sandbox_owned[] = {"/dev", "/proc"};

/* Whether what is at a path may be read. */
enum reading {
    READ_OPEN,
    READ_CLOSED,
    READ_CLOSED_STRICTLY, /* by defaultRead: what is left open by default lifts only this */
    READ_REPLACED,        /* something of the sandbox's own stands there: what is granted is put into it */
};

/* All rules on one path, and what holds there once the marks above are counted in. */
struct mark {
    const struct fs_rule *rule;
    bool grant;
    bool deny_write;
    bool link;
    bool folder;
    enum mount_kind private; /* MOUNT_KINDS: none */
    bool deny_read[FS_ORIGINS];
    bool allow_read[FS_ORIGINS];
    enum reading reading;
    bool writable;
    bool holes;          /* it begins a closed region in which something is open */
    struct mark *above;  /* the innermost one; or NULL */
    struct mark *region; /* of a closed one: where that begins */
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

static enum mount_kind private_kind(enum fs_rule_kind kind) {
    switch (kind) {
    case FS_PRIVATE_TMP:
        return MOUNT_PRIVATE_TMP;
    case FS_PRIVATE_COPY:
        return MOUNT_PRIVATE_COPY;
    case FS_PRIVATE_EMPTY:
        return MOUNT_PRIVATE_EMPTY;
    case FS_ALLOW_WRITE:
    case FS_DENY_WRITE:
    case FS_DENY_READ:
    case FS_ALLOW_READ:
    case FS_SHOW_LINK:
    case FS_SHOW_FOLDER:
        break;
    }
    return MOUNT_KINDS;
}

static struct mark mark_of(const struct fs_rule *rule) {
    struct mark mark = {
        .rule = rule,
        .grant = rule->kind == FS_ALLOW_WRITE,
        .deny_write = rule->kind == FS_DENY_WRITE,
        .link = rule->kind == FS_SHOW_LINK,
        .folder = rule->kind == FS_SHOW_FOLDER,
        .private = private_kind(rule->kind),
    };
    mark.deny_read[rule->origin] = rule->kind == FS_DENY_READ;
    mark.allow_read[rule->origin] = rule->kind == FS_ALLOW_READ;
    return mark;
}

static void merge(struct mark *mark, const struct mark *other) {
    mark->grant |= other->grant;
    mark->deny_write |= other->deny_write;
    mark->link |= other->link;
    mark->folder |= other->folder;
    if (mark->private == MOUNT_KINDS)
        mark->private = other->private;
    for (size_t i = 0; i < FS_ORIGINS; i++) {
        mark->deny_read[i] |= other->deny_read[i];
        mark->allow_read[i] |= other->allow_read[i];
    }
}

/* One mark per path, sorted so that a directory stands right before what lies below it. */
static size_t marks_from_rules(const struct fs_rules *rules, struct mark *marks) {
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++)
        if (!is_sandbox_owned(rules->items[i].path))
            marks[count++] = mark_of(&rules->items[i]);
    qsort(marks, count, sizeof *marks, by_path);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(marks[kept - 1].rule->path, marks[i].rule->path) == 0)
            merge(&marks[kept - 1], &marks[i]);
        else
            marks[kept++] = marks[i];
    }
    return kept;
}

/* What is denied by name, or lies in something denied, is not replaced either. */
static bool is_replaced(const struct mark *mark, enum reading above) {
    bool denied = mark->deny_read[FS_ASKED] || mark->deny_read[FS_DEFAULT];
    return mark->private != MOUNT_KINDS && !denied && (above != READ_CLOSED || mark->allow_read[FS_ASKED]);
}

/* On one path denyRead comes before allowRead, and that before the defaults. Below what is replaced, what is
 * denied is not there; mark->grant is of this path alone. */
static enum reading reading_at(const struct mark *mark, enum reading above) {
    enum reading closed = above == READ_REPLACED ? READ_REPLACED : READ_CLOSED;
    if (mark->deny_read[FS_ASKED])
        return closed;
    if (is_replaced(mark, above))
        return READ_REPLACED;
    if (mark->allow_read[FS_ASKED])
        return READ_OPEN;
    if (mark->deny_read[FS_DEFAULT] || above == READ_CLOSED)
        return closed;
    if (mark->allow_read[FS_STRICT] || (above == READ_REPLACED && mark->grant))
        return READ_OPEN;
    return mark->deny_read[FS_STRICT] && above != READ_REPLACED ? READ_CLOSED_STRICTLY : above;
}

/* What holds at the mark: denyWrite and grants above it stay, reading is as the innermost rule has it. What
 * is open again in a closed region may be written as if nothing had closed it. */
static void judge(struct mark *mark) {
    const struct mark *above = mark->above;
    enum reading reading_above = above == NULL ? READ_OPEN : above->reading;
    mark->reading = reading_at(mark, reading_above);
    mark->deny_write = mark->deny_write || (above != NULL && above->deny_write);
    mark->grant = mark->grant || (above != NULL && above->grant);
    mark->writable = mark->grant && !mark->deny_write && mark->reading == READ_OPEN;
    bool was_closed = reading_above != READ_OPEN;
    bool replaced = is_replaced(mark, reading_above);
    if (mark->reading != READ_OPEN)
        mark->region = was_closed && !replaced ? above->region : mark;
    if (was_closed && (mark->reading == READ_OPEN || mark->link || replaced))
        above->region->holes = true;
    if (mark->folder && mark->reading == READ_CLOSED_STRICTLY)
        mark->region->holes = true;
}

static void judge_all(struct mark *marks, size_t count) {
    struct mark *above = NULL;
    for (size_t i = 0; i < count; i++) {
        while (above != NULL && !path_is_within(marks[i].rule->path, above->rule->path))
            above = above->above;
        marks[i].above = above;
        judge(&marks[i]);
        above = &marks[i];
    }
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

/* What is to be mounted at the mark, MOUNT_KINDS for nothing. */
static enum mount_kind kind_of(const struct mark *mark, bool was_writable) {
    enum reading above = mark->above == NULL ? READ_OPEN : mark->above->reading;
    bool was_open = above == READ_OPEN;
    if (is_replaced(mark, above))
        return mark->private;
    if (mark->reading != READ_OPEN) {
        if (!was_open && mark->folder && mark->reading != READ_CLOSED)
            return MOUNT_FOLDER;
        if (!was_open)
            return mark->link ? MOUNT_LINK : MOUNT_KINDS;
        if (!mark->rule->directory)
            return MOUNT_MASK_FILE;
        return mark->holes ? MOUNT_MASK_HOLES : MOUNT_MASK_DIR;
    }
    if (was_open && mark->writable == was_writable)
        return MOUNT_KINDS;
    return mark->writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY;
}

/* top: path of the writable tree that surrounds the mark, NULL where it is read-only there. */
static int push_mark(struct mount_plan *plan, const struct mark *mark, const char *top, struct error *err) {
    enum mount_kind kind = kind_of(mark, top != NULL);
    if (kind == MOUNT_KINDS)
        return 0;
    if (top != NULL && push_pins(plan, top, mark->rule->path, err) != 0)
        return -1;
    return push_mount(plan, kind, strdup(mark->rule->path), mark->rule, err);
}

static int push_marks(struct mount_plan *plan, const struct mark *marks, size_t count, struct error *err) {
    /* Of each mark the writable tree that it belongs to. */
    cleanup_free const char **tops = calloc(count + 1, sizeof *tops);
    if (tops == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct mark *mark = &marks[i];
        const char *top = mark->above == NULL ? NULL : tops[mark->above - marks];
        if (strcmp(mark->rule->path, "/") == 0)
            plan->root_writable = mark->writable;
        else if (push_mark(plan, mark, top, err) != 0)
            return -1;
        tops[i] = !mark->writable ? NULL : top != NULL ? top : mark->rule->path;
    }
    return 0;
}

int mount_plan_build(const struct fs_rules *rules, struct mount_plan *out, struct error *err) {
    *out = (struct mount_plan){0};
    cleanup_free struct mark *marks = calloc(rules->count + 1, sizeof *marks);
    if (marks == NULL)
        return error_memory(err);
    size_t count = marks_from_rules(rules, marks);
    judge_all(marks, count);
    if (count > 0 && marks[0].reading != READ_OPEN && strcmp(marks[0].rule->path, "/") == 0)
        return error_set(err, ERROR_HOST, 0, "the whole file system would be hidden");
    if (push_marks(out, marks, count, err) == 0)
        return 0;
    mount_plan_clear(out);
    return -1;
}

bool mount_plan_shows(const struct mount_plan *plan, const char *path) {
    for (size_t i = plan->count; i-- > 0;)
        if (path_is_within(path, plan->items[i].path))
            return plan->items[i].kind == MOUNT_WRITABLE || plan->items[i].kind == MOUNT_READ_ONLY ||
                   plan->items[i].kind == MOUNT_PIN;
    return !is_sandbox_owned(path);
}

void mount_plan_clear(struct mount_plan *plan) {
    for (size_t i = 0; i < plan->count; i++)
        free(plan->items[i].path);
    free(plan->items);
    *plan = (struct mount_plan){0};
}

/* --- which rule it was --- */

static const struct fs_rule *rule_on(const struct fs_rules *rules, const char *path, enum fs_rule_kind kind,
                                     enum fs_rule_origin origin) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == kind && rules->items[i].origin == origin &&
            strcmp(rules->items[i].path, path) == 0)
            return &rules->items[i];
    return NULL;
}

/* By which reading is as it is at the mark; NULL: it is open, and nothing had closed it. */
static const struct fs_rule *reader_of(const struct fs_rules *rules, const struct mark *mark) {
    const bool open = mark->reading == READ_OPEN;
    const struct fs_rule *rule = NULL;
    for (; rule == NULL && mark != NULL; mark = mark->above) {
        bool opens = mark->above != NULL && mark->above->reading != READ_OPEN;
        for (size_t origin = 0; rule == NULL && (!open || opens) && origin < FS_ORIGINS; origin++)
            rule = rule_on(rules, mark->rule->path, open ? FS_ALLOW_READ : FS_DENY_READ,
                           (enum fs_rule_origin)origin);
    }
    return rule;
}

static const struct fs_rule *innermost(const struct fs_rules *rules, enum fs_rule_kind kind,
                                       const char *path) {
    const struct fs_rule *found = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        const struct fs_rule *rule = &rules->items[i];
        if (rule->kind == kind && path_is_within(path, rule->path) &&
            (found == NULL || strlen(rule->path) > strlen(found->path)))
            found = rule;
    }
    return found;
}

/* Of a denial of reading and one of writing the longer path is told, as in violations. */
static const struct fs_rule *writer_of(const struct fs_rules *rules, const char *path,
                                       const struct mount_verdict *verdict) {
    const struct fs_rule *denied = innermost(rules, FS_DENY_WRITE, path);
    if (verdict->readable)
        return denied != NULL ? denied : innermost(rules, FS_ALLOW_WRITE, path);
    bool longer = denied != NULL &&
                  (verdict->read_by == NULL || strlen(denied->path) >= strlen(verdict->read_by->path));
    return longer ? denied : verdict->read_by;
}

int mount_plan_judge(const struct fs_rules *rules, const char *path, struct mount_verdict *out,
                     struct error *err) {
    const struct mark *at = NULL;
    cleanup_free struct mark *marks = calloc(rules->count + 1, sizeof *marks);
    if (marks == NULL)
        return error_memory(err);
    size_t count = marks_from_rules(rules, marks);
    judge_all(marks, count);
    for (size_t i = 0; i < count; i++)
        if (path_is_within(path, marks[i].rule->path))
            at = &marks[i];
    *out = (struct mount_verdict){.readable = at == NULL || at->reading == READ_OPEN,
                                  .writable = at != NULL && at->writable,
                                  .own = at != NULL && at->reading == READ_REPLACED,
                                  .shown = at != NULL && at->link && strcmp(at->rule->path, path) == 0,
                                  .read_by = at == NULL ? NULL : reader_of(rules, at)};
    out->write_by = writer_of(rules, path, out);
    return 0;
}
