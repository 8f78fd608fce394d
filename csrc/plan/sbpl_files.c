#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/sbpl_internal.h"
#include "plan/sbpl_regex.h"
#include "plan/sbpl_tables.h"

/*
 * The plan's mounts become regions, in which what is said last holds, as a mount does over those above it.
 * Regions that lie in equally many others do not touch, so one rule says the same of all of them.
 */
enum region_kind {
    REGION_NONE,
    REGION_WRITABLE,
    REGION_READ_ONLY,
    REGION_CLOSED,
    REGION_LINK,
    REGION_FOLDER, /* can be entered, and is no region of its own */
};

struct region {
    enum region_kind kind;
    const char *path;
    size_t depth; /* the regions it lies in */
    bool inside_closed;
};

/*
 * A kind that is not here cannot be said in a profile. There is no other folder in the place of one: what
 * would be replaced is closed, what would be copied is not written. The sandbox's own folders lie elsewhere
 * then.
 */
static const enum region_kind kinds[MOUNT_KINDS] = {
    [MOUNT_WRITABLE] = REGION_WRITABLE,      [MOUNT_READ_ONLY] = REGION_READ_ONLY,
    [MOUNT_MASK_DIR] = REGION_CLOSED,        [MOUNT_MASK_FILE] = REGION_CLOSED,
    [MOUNT_MASK_HOLES] = REGION_CLOSED,      [MOUNT_LINK] = REGION_LINK,
    [MOUNT_FOLDER] = REGION_FOLDER,          [MOUNT_PRIVATE_TMP] = REGION_CLOSED,
    [MOUNT_PRIVATE_COPY] = REGION_READ_ONLY, [MOUNT_PRIVATE_EMPTY] = REGION_CLOSED,
};

struct regions {
    struct region *items;
    size_t count;
    size_t deepest;
};

/* Where nothing can be read by default, what that closes needs no word: and it would close what programs of
 * macOS need, which is none of the rules'. */
static bool is_closed_by_default(const struct sbpl_profile *profile, const struct mount *mount) {
    const struct fs_rules *rules = profile->request->rules;
    if (!profile->strict || kinds[mount->kind] != REGION_CLOSED || strchr(mount->path + 1, '/') != NULL)
        return false;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_DENY_READ && rules->items[i].origin != FS_STRICT &&
            strcmp(rules->items[i].path, mount->path) == 0)
            return false;
    return true;
}

static void place(const struct sbpl_profile *profile, struct regions *regions, struct region *region) {
    region->inside_closed = profile->strict;
    for (size_t i = regions->count; i-- > 0;) {
        const struct region *above = &regions->items[i];
        if (above->kind == REGION_LINK || above->kind == REGION_FOLDER ||
            !path_is_within(region->path, above->path))
            continue;
        region->inside_closed = above->kind == REGION_CLOSED;
        region->depth = above->depth + 1;
        break;
    }
    if (region->depth > regions->deepest)
        regions->deepest = region->depth;
}

static int find_regions(const struct sbpl_profile *profile, struct regions *out, struct error *err) {
    const struct mount_plan *plan = profile->plan;
    out->items = calloc(plan->count + 1, sizeof *out->items);
    if (out->items == NULL)
        return error_memory(err);
    for (size_t i = 0; i < plan->count; i++) {
        const struct mount *mount = &plan->items[i];
        if (mount->kind == MOUNT_PIN || is_closed_by_default(profile, mount))
            continue;
        struct region region = {.kind = kinds[mount->kind], .path = mount->path};
        if (region.kind == REGION_NONE)
            return error_set(err, ERROR_OPTIONS, 0,
                             "%s: a macOS sandbox profile cannot say what is mounted there", mount->path);
        place(profile, out, &region);
        out->items[out->count++] = region;
    }
    return 0;
}

struct saying {
    enum region_kind kind;
    bool inside_closed; /* of those in a closed region alone */
    const char *head;
    const char *filter;
};

static const struct saying sayings[] = {
    {REGION_CLOSED, false, SBPL_DENY_ALL, "subpath"},
    {REGION_READ_ONLY, false, SBPL_DENY_WRITE, "subpath"},
    {REGION_READ_ONLY, true, "allow " SBPL_READ, "subpath"},
    {REGION_WRITABLE, true, "allow " SBPL_READ, "subpath"},
    {REGION_WRITABLE, false, "allow " SBPL_WRITE, "subpath"},
    {REGION_LINK, true, "allow " SBPL_READ, "literal"},
    {REGION_FOLDER, true, "allow file-read-metadata", "literal"},
};

/* A rule by name says the same of it later on, and of other spellings as well. */
static bool is_named(const struct fs_rules *rules, const struct region *region) {
    for (size_t i = 0; i < rules->name_count; i++)
        if (!rules->names[i].glob && (rules->names[i].read || region->kind == REGION_READ_ONLY) &&
            strcmp(rules->names[i].path, region->path) == 0)
            return true;
    return false;
}

static void say(struct sbpl_profile *profile, const struct regions *regions, size_t depth,
                const struct saying *saying) {
    struct sbpl_rule rule = sbpl_profile_rule(profile, saying->head);
    for (size_t i = 0; i < regions->count; i++) {
        const struct region *region = &regions->items[i];
        if (region->depth != depth || region->kind != saying->kind ||
            (saying->inside_closed && !region->inside_closed))
            continue;
        if (saying->head[0] == 'd' && is_named(profile->request->rules, region))
            continue;
        if (saying->head[0] == 'd')
            sbpl_rule_denied(&rule, saying->filter, region->path);
        else
            sbpl_rule_path(&rule, saying->filter, region->path);
    }
    sbpl_rule_end(&rule);
}

/* --- what stands above --- */

static int by_path(const void *left, const void *right) {
    return path_compare(*(char *const *)left, *(char *const *)right);
}

/* Sorted, each once. */
static void tidy(struct strvec *paths) {
    size_t kept = 0;
    if (paths->count > 0)
        qsort(paths->items, paths->count, sizeof *paths->items, by_path);
    for (size_t i = 0; i < paths->count; i++) {
        if (kept > 0 && strcmp(paths->items[i], paths->items[kept - 1]) == 0)
            free(paths->items[i]);
        else
            paths->items[kept++] = paths->items[i];
    }
    paths->count = kept;
}

/* Every folder above the path, but for the root. 0, or -1: out of memory. */
static int push_folders(const char *path, struct strvec *folders) {
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char *folder = strndup(path, (size_t)(slash - path));
        if (folder == NULL || strvec_push_owned(folders, folder) != 0)
            return -1;
    }
    return 0;
}

/* What is open in a closed region is found through the folders above it, whose entries stay hidden. */
static int show_way(struct sbpl_profile *profile, const struct regions *regions, struct error *err) {
    struct strvec folders = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < regions->count; i++)
        if (regions->items[i].inside_closed && regions->items[i].kind != REGION_CLOSED)
            result = push_folders(regions->items[i].path, &folders);
    for (size_t i = 0; result == 0 && profile->strict && i < sbpl_runtime_path_count; i++)
        result = push_folders(sbpl_runtime_paths[i].path, &folders);
    struct sbpl_rule rule = sbpl_profile_rule(profile, "allow file-read-metadata");
    tidy(&folders);
    for (size_t i = 0; i < folders.count; i++)
        sbpl_rule_path(&rule, "literal", folders.items[i]);
    sbpl_rule_end(&rule);
    strvec_clear(&folders);
    return result == 0 ? 0 : error_memory(err);
}

/*
 * The next folders of a sorted list, each in the one before it, as one expression: "^/a(/b(/c)?)?$". Returns
 * how many it took, 0: none, for that would be too long.
 */
static size_t add_chain(struct sbpl_text *regex, char *const *folders, size_t count) {
    size_t taken = 1;
    sbpl_regex_add_lead(regex, folders[0], true);
    while (taken < count && path_is_within(folders[taken], folders[taken - 1]) &&
           folders[taken - 1][1] != '\0') {
        const char *name = folders[taken] + strlen(folders[taken - 1]);
        /* Every byte escaped, and the brackets of all. */
        if (regex->size + 2 * strlen(name) + 3 * (taken + 1) > SBPL_STRING_MAX)
            break;
        sbpl_text_add(regex, "(");
        sbpl_regex_add_text(regex, name, strlen(name), false);
        taken++;
    }
    for (size_t i = 1; i < taken; i++)
        sbpl_text_add(regex, ")?");
    sbpl_text_add(regex, "$");
    return regex->size > SBPL_STRING_MAX ? 0 : taken;
}

static int add_chains(struct sbpl_rule *rule, const struct strvec *folders, struct error *err) {
    for (size_t i = 0; i < folders->count;) {
        struct sbpl_text regex = {0};
        const size_t taken = add_chain(&regex, folders->items + i, folders->count - i);
        if (taken > 0 && !regex.failed)
            sbpl_rule_string(rule, "regex", regex.data);
        else if (taken == 0)
            sbpl_rule_denied(rule, "literal", folders->items[i]);
        bool failed = regex.failed;
        sbpl_text_clear(&regex);
        if (failed)
            return error_memory(err);
        i += taken > 0 ? taken : 1;
    }
    return 0;
}

/* The plan's pins, and the roots themselves: moved away, what is protected in them would bear another name.
 */
static int hold_ancestors(struct sbpl_profile *profile, const struct regions *regions, struct error *err) {
    struct strvec folders = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < profile->plan->count; i++)
        if (profile->plan->items[i].kind == MOUNT_PIN)
            result = strvec_push(&folders, profile->plan->items[i].path);
    for (size_t i = 0; result == 0 && i < regions->count; i++)
        if (regions->items[i].kind == REGION_WRITABLE)
            result = strvec_push(&folders, regions->items[i].path);
    if (result != 0)
        error_memory(err);
    tidy(&folders);
    struct sbpl_rule rule = sbpl_profile_rule(profile, "deny file-write-unlink");
    if (result == 0)
        result = add_chains(&rule, &folders, err);
    sbpl_rule_end(&rule);
    strvec_clear(&folders);
    return result;
}

/* --- what is the same for every policy --- */

static void open_reading(struct sbpl_profile *profile) {
    if (!profile->strict) {
        sbpl_text_add(&profile->text, "(allow " SBPL_READ ")\n");
        return;
    }
    struct sbpl_rule rule = sbpl_profile_rule(profile, "allow " SBPL_READ);
    sbpl_rule_string(&rule, "literal", "/");
    for (size_t i = 0; i < sbpl_runtime_path_count; i++)
        sbpl_rule_path(&rule, "subpath", sbpl_runtime_paths[i].path);
    sbpl_rule_end(&rule);
    /* The links in the root that lead to /private. */
    struct sbpl_rule links = sbpl_profile_rule(profile, "allow file-read-metadata");
    sbpl_rule_string(&links, "literal", "/etc");
    sbpl_rule_string(&links, "literal", "/tmp");
    sbpl_rule_string(&links, "literal", "/var");
    sbpl_rule_end(&links);
}

static void add_devices(struct sbpl_profile *profile) {
    struct sbpl_rule closed = sbpl_profile_rule(profile, SBPL_DENY_ALL);
    sbpl_rule_string(&closed, "subpath", "/dev");
    sbpl_rule_end(&closed);
    struct sbpl_rule folder = sbpl_profile_rule(profile, "allow " SBPL_READ);
    sbpl_rule_string(&folder, "literal", "/dev");
    for (size_t i = 0; i < sbpl_device_count; i++) {
        sbpl_rule_filter(&folder);
        sbpl_text_add(&profile->text, sbpl_devices[i].filter);
    }
    sbpl_rule_end(&folder);
    struct sbpl_rule written = sbpl_profile_rule(profile, "allow file-write-data");
    for (size_t i = 0; i < sbpl_device_count; i++) {
        if (!sbpl_devices[i].write)
            continue;
        sbpl_rule_filter(&written);
        sbpl_text_add(&profile->text, sbpl_devices[i].filter);
    }
    sbpl_rule_end(&written);
    struct sbpl_rule controlled = sbpl_profile_rule(profile, "allow file-ioctl");
    for (size_t i = 0; i < sbpl_device_count; i++) {
        if (!sbpl_devices[i].ioctl)
            continue;
        sbpl_rule_filter(&controlled);
        sbpl_text_add(&profile->text, sbpl_devices[i].filter);
    }
    sbpl_rule_end(&controlled);
}

/* In the order in which each has the last word over those before it. */
static int add_regions(struct sbpl_profile *profile, const struct regions *regions, struct error *err) {
    open_reading(profile);
    if (profile->plan->root_writable)
        sbpl_text_add(&profile->text, "(allow " SBPL_WRITE ")\n");
    for (size_t depth = 0; depth <= regions->deepest; depth++)
        for (size_t i = 0; i < sizeof sayings / sizeof sayings[0]; i++)
            say(profile, regions, depth, &sayings[i]);
    add_devices(profile);
    if (hold_ancestors(profile, regions, err) != 0 || sbpl_add_names(profile, err) != 0)
        return -1;
    sbpl_add_protected(profile);
    return show_way(profile, regions, err);
}

int sbpl_add_files(struct sbpl_profile *profile, struct error *err) {
    struct regions regions = {0};
    int result = find_regions(profile, &regions, err);
    if (result == 0)
        result = add_regions(profile, &regions, err);
    free(regions.items);
    return result;
}
