#include "policy/write_roots.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/path.h"
#include "platform/resolve.h"

/* Where the framework's bash tool writes its logs. */
#define TASK_LOGS "~/.operon/tasks"

/* A candidate for a write root. */
struct grant {
    char *written; /* expanded, as asked for */
    struct resolved_path file;
    bool found;
    bool refused;
    bool is_glob; /* and no file of that name is there */
    struct fs_source source;
};

struct grants {
    struct grant *items;
    size_t count;
};

static void grants_clear(struct grants *grants) {
    for (size_t i = 0; i < grants->count; i++) {
        free(grants->items[i].written);
        resolved_path_clear(&grants->items[i].file);
    }
    free(grants->items);
}

static int add_grant(struct grants *grants, const char *entry, struct fs_source source,
                     const struct fs_place *place, struct error *err) {
    struct grant *grant = &grants->items[grants->count++];
    grant->source = source;
    grant->written = fs_entry_expand(entry, place->cwd, place->home);
    if (grant->written == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(grant->written, &grant->file, err);
    if (outcome == RESOLVE_FAILED)
        return -1;
    grant->found = outcome == RESOLVE_FOUND;
    grant->is_glob = outcome == RESOLVE_ABSENT && glob_has_magic(entry);
    return 0;
}

static int collect_grants(const struct fs_options *options, const struct fs_place *place,
                          struct grants *grants, struct error *err) {
    const struct {
        const char *path;
        bool granted;
    } fixed[] = {{place->cwd, options->writable_cwd},
                 {place->tmpdir, !options->private_tmp},
                 {"/tmp", !options->private_tmp},
                 {TASK_LOGS, options->writable_cwd}};
    const size_t fixed_count = sizeof fixed / sizeof fixed[0];
    grants->items = calloc(fixed_count + options->allow_write.count + place->additional_dirs->count,
                           sizeof *grants->items);
    if (grants->items == NULL)
        return error_memory(err);
    for (size_t i = 0; i < fixed_count; i++)
        if (fixed[i].granted &&
            add_grant(grants, fixed[i].path, (struct fs_source){NULL, i}, place, err) != 0)
            return -1;
    for (size_t i = 0; i < options->allow_write.count; i++)
        if (add_grant(grants, options->allow_write.items[i], (struct fs_source){"allowWrite", i}, place,
                      err) != 0)
            return -1;
    for (size_t i = 0; i < place->additional_dirs->count; i++)
        if (add_grant(grants, place->additional_dirs->items[i], (struct fs_source){"additionalDirs", i},
                      place, err) != 0)
            return -1;
    return 0;
}

/* A root that no symlink leads to stands for itself: no command can have made it another. */
static bool stands(const struct grant *root) {
    return root->found && !root->refused && root->file.link_folders.count == 0;
}

static bool is_within_any(const char *path, const struct grants *grants, const struct grant *but,
                          bool standing_only) {
    for (size_t i = 0; i < grants->count; i++) {
        const struct grant *root = &grants->items[i];
        bool counts = standing_only ? stands(root) : root->found && !root->refused;
        if (root != but && counts && path_is_within(path, root->file.path))
            return true;
    }
    return false;
}

/* True where a symlink on the grant's way lies where a command may write, or might have in an earlier run. */
static bool may_be_planted(const struct grant *grant, const struct grants *grants, bool standing_only,
                           struct path_memory *memory) {
    for (size_t i = 0; i < grant->file.link_folders.count; i++)
        if (is_within_any(grant->file.link_folders.items[i], grants, grant, standing_only) ||
            path_memory_was_granted(memory, grant->file.link_folders.items[i]))
            return true;
    return false;
}

/*
 * A command that may write in /tmp can replace /tmp/work by a symlink to /etc; the next run of a machine
 * whose cwd is /tmp/work must not be granted /etc. Roots reached without any symlink stand; others are judged
 * against those first, then against each other, so that a planted one cannot vouch for itself. The memory is
 * asked after the way was walked: what a run plants, it plants after its roots were remembered.
 */
static int refuse_planted_grants(const struct grants *grants, struct path_memory *memory,
                                 struct fs_rules *out, struct error *err) {
    for (int standing_only = 1; standing_only >= 0; standing_only--)
        for (size_t i = 0; i < grants->count; i++) {
            struct grant *grant = &grants->items[i];
            if (!grant->found || grant->refused || grant->file.link_folders.count == 0)
                continue;
            if (!may_be_planted(grant, grants, standing_only != 0, memory) ||
                is_within_any(grant->file.path, grants, grant, true))
                continue;
            grant->refused = true;
            if (fs_rules_warn(out, err,
                              "%s is not writable in the sandbox: it leads to %s through a symlink that a "
                              "command could "
                              "have made; name the real path",
                              grant->written, grant->file.path) != 0)
                return -1;
        }
    return 0;
}

/* Root without capabilities is an ordinary user: what others own is closed to it, which surprises in
 * containers. */
static int warn_of_foreign_owner(const struct grant *grant, struct fs_rules *out, struct error *err) {
    if (geteuid() != 0 || grant->file.owner == 0 || (grant->file.mode & S_IWOTH) != 0)
        return 0;
    return fs_rules_warn(out, err,
                         "%s belongs to uid %u: a command of root has no capabilities in the sandbox and "
                         "cannot write there; run "
                         "as that user, or change the owner",
                         grant->file.path, grant->file.owner);
}

/* Grants that a person is likely not to mean. */
static int judge_grant(struct grant *grant, const struct fs_place *place, struct fs_rules *out,
                       struct error *err) {
    bool is_root = strcmp(grant->file.path, "/") == 0;
    if (is_root && strcmp(grant->written, place->tmpdir) == 0 && strcmp(place->tmpdir, place->cwd) != 0) {
        grant->refused = true;
        return fs_rules_warn(out, err,
                             "the temporary directory is /: it is not made writable in the sandbox");
    }
    if (strcmp(grant->file.path, "/dev/shm") != 0 && path_is_within(grant->file.path, "/dev"))
        return fs_rules_warn(out, err, "%s is not writable in the sandbox: commands have a /dev of their own",
                             grant->file.path);
    if (strcmp(grant->written, place->cwd) != 0)
        return 0;
    if (is_root || strcmp(grant->file.path, place->home) == 0)
        return fs_rules_warn(out, err,
                             "the working directory is %s: everything below it is writable for commands",
                             grant->file.path);
    return 0;
}

int write_roots_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                        struct error *err) {
    struct grants grants = {0};
    int result = collect_grants(options, place, &grants, err);
    if (result == 0)
        result = refuse_planted_grants(&grants, place->memory, out, err);
    for (size_t i = 0; result == 0 && i < grants.count; i++) {
        struct grant *grant = &grants.items[i];
        if (grant->is_glob)
            result = fs_rules_warn(
                out, err,
                "%s is not writable in the sandbox: a write root has to be definite, it cannot be a glob",
                grant->written);
        if (!grant->found || grant->refused)
            continue;
        result = judge_grant(grant, place, out, err);
        if (result == 0)
            result = warn_of_foreign_owner(grant, out, err);
        if (result == 0 && !grant->refused && path_memory_grant(place->memory, grant->file.path) != 0)
            result = error_memory(err);
        if (result == 0 && !grant->refused)
            result = fs_rules_push(out, FS_ALLOW_WRITE, &grant->file, NULL, err);
        if (result == 0 && !grant->refused)
            out->items[out->count - 1].source = grant->source;
    }
    grants_clear(&grants);
    return result;
}
