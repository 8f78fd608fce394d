#include "policy/read_regions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"
#include "platform/look.h"
#include "policy/fs_pattern.h"
#include "policy/runtime_files.h"

static const char why_strict[] = "not readable by default, see allowRead";

/* Without them what is opened would not be found by the name that was asked for. */
static int show_links(const struct resolved_path *file, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < file->links.count; i++) {
        struct resolved_path link = {.path = strdup(file->links.items[i]), .mode = S_IFLNK};
        int result =
            link.path == NULL ? error_memory(err) : fs_rules_push(out, FS_SHOW_LINK, &link, NULL, err);
        resolved_path_clear(&link);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* What is opened of what an entry leads to. */
enum opened {
    OPEN_ALL,
    OPEN_SOCKETS, /* nothing else, and what is denied stays so; who plants one is told of in unix_sockets.c */
};

static int push_socket(struct resolved_path *file, const struct fs_place *place, struct fs_rules *out,
                       struct error *err) {
    if (!S_ISSOCK(file->mode) || fs_may_be_planted(file, place))
        return 0;
    return show_links(file, out, err) != 0 ? -1
                                           : fs_rules_push_of(out, FS_ALLOW_READ, FS_STRICT, file, NULL, err);
}

/* Opens what an entry leads to. */
static int push_file(const char *path, enum opened opened, struct resolved_path *file,
                     const struct fs_place *place, struct fs_rules *out, struct error *err) {
    if (opened == OPEN_SOCKETS)
        return push_socket(file, place, out, err);
    if (fs_may_be_planted(file, place))
        return fs_rules_warn(out, err,
                             "%s is not opened for reading: it leads to %s through a symlink that a command "
                             "could have made; name the real path",
                             path, file->path);
    if (strvec_push(&out->opened, file->path) != 0)
        return error_memory(err);
    if (show_links(file, out, err) != 0)
        return -1;
    return fs_rules_push(out, FS_ALLOW_READ, file, NULL, err);
}

static int push_match(const char *path, enum opened opened, const struct fs_place *place,
                      struct fs_rules *out, struct error *err) {
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND)
        result = push_file(path, opened, &file, place, out, err);
    resolved_path_clear(&file);
    return result;
}

static int push_glob(const char *path, size_t base, enum opened opened, const struct fs_place *place,
                     struct fs_rules *out, struct error *err) {
    struct fs_pattern pattern;
    struct strvec found = {0};
    int result = fs_pattern_split(path, base, &pattern, err);
    if (result == 0 && fs_may_be_planted(&pattern.folder, place)) {
        result = push_file(path, opened, &pattern.folder, place, out, err);
    } else if (result == 0) {
        cleanup_free char *real = fs_pattern_at(&pattern, pattern.folder.path);
        result = real == NULL ? error_memory(err) : glob_walk_find(place->globs, real, &found, err);
    }
    for (size_t i = 0; result == 0 && i < found.count; i++)
        result = push_match(found.items[i], opened, place, out, err);
    strvec_clear(&found);
    fs_pattern_clear(&pattern);
    return result;
}

static int push_entry(const char *entry, enum opened opened, const struct fs_place *place,
                      struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(entry, place->cwd, place->home);
    const size_t base = fs_entry_base(entry, place->cwd, place->home);
    struct resolved_path file = {0};
    if (path == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND)
        result = push_file(path, opened, &file, place, out, err);
    else if (outcome == RESOLVE_ABSENT && glob_has_magic(path + base))
        result = push_glob(path, base, opened, place, out, err);
    resolved_path_clear(&file);
    return result;
}

/* --- defaultRead "deny" --- */

/* The sandbox has its own of these. */
static bool is_own(const char *name) {
    return strcmp(name, "dev") == 0 || strcmp(name, "proc") == 0;
}

/* An entry of the root. A symlink, as /bin is, leads into another one. */
static int close_entry(const char *name, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    cleanup_free char *path = path_join("", name);
    if (path == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND && file.links.count == 0)
        result = fs_rules_push_of(out, FS_DENY_READ, FS_STRICT, &file, why_strict, err);
    resolved_path_clear(&file);
    return result;
}

static int close_all(struct fs_rules *out, struct error *err) {
    struct strvec names = {0};
    int result = look_at_folder("/", &names) ? 0 : error_set(err, ERROR_HOST, 0, "/ cannot be listed");
    for (size_t i = 0; result == 0 && i < names.count; i++)
        if (!is_own(names.items[i]))
            result = close_entry(names.items[i], out, err);
    strvec_clear(&names);
    return result;
}

static int open_write_roots(struct fs_rules *out, struct error *err) {
    for (size_t i = 0, count = out->count; i < count; i++) {
        const struct fs_rule root = out->items[i];
        if (root.kind != FS_ALLOW_WRITE)
            continue;
        struct resolved_path file = {.path = strdup(root.path),
                                     .device = root.device,
                                     .inode = root.inode,
                                     .mode = root.directory ? S_IFDIR : S_IFREG};
        int result = file.path == NULL ? error_memory(err)
                                       : fs_rules_push_of(out, FS_ALLOW_READ, FS_STRICT, &file, NULL, err);
        resolved_path_clear(&file);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* True where the root itself was asked for: then nothing is closed. */
static bool opens_all(const struct fs_rules *rules) {
    for (size_t i = 0; i < rules->count; i++) {
        enum fs_rule_kind kind = rules->items[i].kind;
        if ((kind == FS_ALLOW_WRITE || kind == FS_ALLOW_READ) && rules->items[i].path[1] == '\0')
            return true;
    }
    return false;
}

/* Who may connect to a socket has to find it. */
static int open_sockets(const struct strvec *entries, const struct fs_place *place, struct fs_rules *out,
                        struct error *err) {
    for (size_t i = 0; entries != NULL && i < entries->count; i++) {
        const size_t rules = out->count;
        if (push_entry(entries->items[i], OPEN_SOCKETS, place, out, err) != 0)
            return error_wrap(err, "network.allowUnixSockets[%zu]", i);
        fs_rules_attribute(out, rules, out->name_count, (struct fs_source){"allowUnixSockets", i});
    }
    return 0;
}

int read_regions_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                         struct error *err) {
    for (size_t i = 0; i < options->allow_read.count; i++) {
        const size_t rules = out->count;
        if (push_entry(options->allow_read.items[i], OPEN_ALL, place, out, err) != 0)
            return error_wrap(err, "filesystem.allowRead[%zu]", i);
        fs_rules_attribute(out, rules, out->name_count, (struct fs_source){"allowRead", i});
    }
    const bool strict = fs_options_are_strict(options) && !opens_all(out);
    if ((strict || options->private_tmp) && open_sockets(place->unix_sockets, place, out, err) != 0)
        return -1;
    if (!strict)
        return 0;
    if (close_all(out, err) != 0 || open_write_roots(out, err) != 0)
        return -1;
    return runtime_files_resolve(place, out, err);
}
