#include "explain/explain_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/git_check.h"
#include "exec/index_walk.h"
#include "exec/payload.h"
#include "exec/rules.h"
#include "explain/path_access.h"
#include "plan/mount_plan.h"
#include "platform/linux/prepare.h"
#include "platform/resolve.h"
#include "policy/private_folders.h"
#include "policy/protected_names.h"

struct path_explainer {
    const struct options *options;
    struct fs_place place;
    struct strvec read_only;
    struct fs_rules rules;
    /* The supervisor's rules, as it would have them. */
    struct payload payload;
    char *whys; /* one byte for each rule by name: where its why lies tells which one it was */
    int root;
    struct session_index *index;
    bool indexed;
    struct rules *names; /* NULL: nobody holds names on this host */
};

/* --- the rules --- */

static int make_names(struct path_explainer *explainer, struct error *err) {
    struct payload *payload = &explainer->payload;
    const struct fs_rules *rules = &explainer->rules;
    *payload = (struct payload){.rules = prepare_payload_rules(rules),
                                .rule_count = rules->name_count,
                                .opened = rules->opened.items,
                                .opened_count = rules->opened.count,
                                .freed_names = fs_options_freed_names(&explainer->options->fs),
                                .allow_git_config = explainer->options->fs.allow_git_config,
                                .common_dir = rules->common_dir,
                                .worktree = rules->worktree};
    explainer->whys = calloc(rules->name_count + 1, 1);
    if (payload->rules == NULL || explainer->whys == NULL)
        return error_memory(err);
    for (size_t i = 0; i < rules->name_count; i++)
        payload->rules[i].why = explainer->whys + i;
    explainer->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    explainer->index = session_index_new();
    if (explainer->root < 0 || explainer->index == NULL)
        return error_set(err, ERROR_HOST, errno, "the rules by name cannot be asked");
    explainer->names = rules_new(payload, explainer->root, explainer->index);
    return explainer->names == NULL ? error_memory(err) : 0;
}

struct path_explainer *path_explainer_new(const struct options *options, const struct fs_place *place,
                                          struct error *err) {
    struct path_explainer *explainer = calloc(1, sizeof *explainer);
    if (explainer == NULL) {
        error_memory(err);
        return NULL;
    }
    explainer->options = options;
    explainer->place = *place;
    explainer->place.always_read_only = &explainer->read_only;
    explainer->place.unix_sockets = &options->network.allow_unix_sockets;
    explainer->root = -1;
    int result = prepare_list_read_only(&explainer->read_only, err);
    if (result == 0)
        result = fs_rules_resolve(&options->fs, &explainer->place, &explainer->rules, err);
    if (result == 0 && place->supervised)
        result = make_names(explainer, err);
    if (result == 0)
        return explainer;
    path_explainer_free(explainer);
    return NULL;
}

void path_explainer_free(struct path_explainer *explainer) {
    if (explainer == NULL)
        return;
    rules_free(explainer->names);
    session_index_free(explainer->index);
    close_fd(&explainer->root);
    free(explainer->payload.rules);
    free(explainer->whys);
    fs_rules_clear(&explainer->rules);
    strvec_clear(&explainer->read_only);
    free(explainer);
}

const struct fs_rules *path_explainer_rules(const struct path_explainer *explainer) {
    return &explainer->rules;
}

void explained_path_clear(struct explained_path *explained) {
    free(explained->path);
    free(explained->resolved);
    free(explained->read.at);
    free(explained->write.at);
    free(explained->connect.at);
    *explained = (struct explained_path){0};
}

/* --- reasons --- */

static int set_reason(struct explain_reason *out, bool allowed, const char *why, const char *at,
                      struct fs_source source, struct error *err) {
    free(out->at);
    *out = (struct explain_reason){.allowed = allowed, .why = why, .source = source};
    if (at != NULL && (out->at = strdup(at)) == NULL)
        return error_memory(err);
    return 0;
}

static int set_plain(struct explain_reason *out, bool allowed, const char *why, struct error *err) {
    return set_reason(out, allowed, why, NULL, (struct fs_source){0}, err);
}

static int set_both(struct explained_path *out, bool allowed, const char *why, struct error *err) {
    return set_plain(&out->read, allowed, why, err) == 0 ? set_plain(&out->write, allowed, why, err) : -1;
}

static const char *why_readable(const struct fs_rule *rule) {
    if (rule == NULL)
        return "readable by default";
    if (rule->source.name != NULL && strcmp(rule->source.name, "allowUnixSockets") == 0)
        return "allowed by allowUnixSockets";
    return rule->origin == FS_STRICT ? "what programs need, or a write root" : "allowed by allowRead";
}

static const char *why_writable(const struct fs_rule *rule) {
    return rule->source.name != NULL && strcmp(rule->source.name, "allowWrite") == 0 ? "allowed by allowWrite"
                                                                                     : "in a write root";
}

static int set_by_mounts(const struct mount_verdict *verdict, struct explained_path *out, struct error *err) {
    const struct fs_rule *read = verdict->read_by;
    const struct fs_rule *write = verdict->write_by;
    const struct fs_source none = {0};
    const char *why_read = verdict->readable ? why_readable(read) : read == NULL ? "hidden" : read->why;
    if (set_reason(&out->read, verdict->readable, why_read, read == NULL ? NULL : read->path,
                   read == NULL ? none : read->source, err) != 0)
        return -1;
    const char *why = verdict->writable                     ? why_writable(write)
                      : write == NULL || write->why == NULL ? "outside the write roots"
                                                            : write->why;
    bool counts = write != NULL && (verdict->writable || write->why != NULL);
    return set_reason(&out->write, verdict->writable, why, counts ? write->path : NULL,
                      counts ? write->source : none, err);
}

/* --- names --- */

/* What the agent looks for in the background, while commands run: folders of hooks. */
static void index_hooks(struct path_explainer *explainer) {
    const struct fs_rules *rules = &explainer->rules;
    for (size_t i = 0; !explainer->indexed && i < rules->count; i++) {
        const struct fs_rule *root = &rules->items[i];
        if (root->kind != FS_ALLOW_WRITE || !root->directory)
            continue;
        cleanup_fd int folder = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0)
            index_walk(explainer->index, folder, explainer->place.home);
    }
    explainer->indexed = true;
}

static int set_by_why(const struct path_explainer *explainer, const char *why, struct explain_reason *out,
                      struct error *err) {
    const struct fs_rules *rules = &explainer->rules;
    if (why == NULL)
        return 0;
    for (size_t i = 0; i < rules->name_count; i++)
        if (why == explainer->whys + i)
            return set_reason(out, false, rules->names[i].why, rules->names[i].path, rules->names[i].source,
                              err);
    return set_plain(out, false, why, err);
}

/* The name that protects the path, as allowProtected takes it. */
static int add_protected_name(const struct path_explainer *explainer, const char *path,
                              struct explain_reason *out, struct error *err) {
    const struct protected_name *name = protected_name_of(path, explainer->payload.freed_names, false);
    if (out->allowed || name == NULL || out->why != name->why)
        return 0;
    free(out->at);
    out->at = NULL;
    return asprintf(&out->at, "%s%s", name->path, name->folder ? "/" : "") < 0 ? error_memory(err) : 0;
}

static int set_by_name(struct path_explainer *explainer, enum rule_act act, const char *path,
                       struct explain_reason *out, struct error *err) {
    return explainer->names == NULL
               ? 0
               : set_by_why(explainer, rules_refuse(explainer->names, act, path), out, err);
}

/* Of what is denied as soon as it is there: the options' entries are held by name, credentials need not be.
 */
static int set_later(const struct fs_rules *rules, const char *denied, struct explain_reason *out,
                     struct error *err) {
    for (size_t i = 0; i < rules->name_count; i++)
        if (rules->names[i].read && strcmp(rules->names[i].path, denied) == 0)
            return set_reason(out, false, rules->names[i].why, denied, rules->names[i].source, err);
    return set_reason(out, false, "credentials, denied by default", denied, (struct fs_source){0}, err);
}

static int judge_later(const struct path_explainer *explainer, const char *path, struct explain_reason *out,
                       struct error *err) {
    const struct strvec *later = &explainer->rules.later;
    for (size_t i = 0; i < later->count; i++)
        if (path_is_within(path, later->items[i]))
            return set_later(&explainer->rules, later->items[i], out, err);
    return 0;
}

/* --- what is not there yet --- */

#define WHY_OWN                                                                                              \
    "in a repository that the command makes: what the host's git would run is taken out at its end"

enum made { IN_NO_REPOSITORY, IN_OWN_REPOSITORY, ACTIVE_HOOK };

/* What the path would be a part of, where the first folder of it that is not there has so many bytes. */
static enum made kind_of_unmade(const char *path, size_t missing) {
    struct git_candidate part;
    size_t at = 0;
    enum made made = IN_NO_REPOSITORY;
    while (git_candidate_next(path, false, &at, &part)) {
        if (part.directory < missing || !part.is_directory)
            continue;
        if (part.part == GIT_PART_HOOKS && !part.whole && !git_check_is_inactive_hook(strrchr(path, '/') + 1))
            return ACTIVE_HOOK;
        made = IN_OWN_REPOSITORY;
    }
    return made;
}

/* The folders on the way are made first, by the command. */
static int judge_unmade(struct path_explainer *explainer, const char *path, size_t missing,
                        struct explain_reason *out, struct error *err) {
    cleanup_free char *first = strndup(path, missing);
    if (first == NULL)
        return error_memory(err);
    const char *why = rules_refuse(explainer->names, RULE_CREATE, first);
    enum made made = kind_of_unmade(path, missing);
    if (why == NULL)
        why = made == ACTIVE_HOOK ? rules_refuse(explainer->names, RULE_CREATE, path)
                                  : rules_refuse_unmade(explainer->names, path);
    if (why == NULL && made == IN_OWN_REPOSITORY)
        return set_plain(out, out->allowed, out->allowed ? WHY_OWN : out->why, err);
    return set_by_why(explainer, why, out, err);
}

/* What a folder is asked about. */
#define ANY_NAME "any-name-of-os-sandbox"

static int judge_write_by_name(struct path_explainer *explainer, const struct explained_path *asked,
                               bool folder, struct explain_reason *out, struct error *err) {
    const char *path = asked->resolved;
    if (explainer->names == NULL)
        return 0;
    index_hooks(explainer);
    if (asked->exists && !folder)
        return set_by_name(explainer, RULE_WRITE, path, out, err);
    if (!asked->exists) {
        size_t missing = path_access_missing(path);
        return path[missing] != '\0' ? judge_unmade(explainer, path, missing, out, err)
                                     : set_by_name(explainer, RULE_CREATE, path, out, err);
    }
    cleanup_free char *inside = path_join(path[1] == '\0' ? "" : path, ANY_NAME);
    return inside == NULL ? error_memory(err) : set_by_name(explainer, RULE_CREATE, inside, out, err);
}

/* --- sockets --- */

/* The entry of allowUnixSockets that has the path; its count: none. */
static int find_socket_entry(struct path_explainer *explainer, const char *path, size_t *entry,
                             struct error *err) {
    const struct strvec *entries = &explainer->options->network.allow_unix_sockets;
    for (*entry = 0; *entry < entries->count; ++*entry) {
        bool has = false;
        if (path_access_socket_entry(entries->items[*entry], &explainer->place, path, &has, err) != 0)
            return -1;
        if (has)
            break;
    }
    return 0;
}

static int judge_connect(struct path_explainer *explainer, bool listed, size_t entry,
                         struct explained_path *out, struct error *err) {
    if (!out->read.allowed && out->read.why != path_access_why_host)
        return set_reason(&out->connect, false, out->read.why, out->read.at, out->read.source, err);
    if (out->exists && !path_access_is_allowed(out->resolved, W_OK))
        return set_plain(&out->connect, false, path_access_why_host, err);
    if (listed)
        return set_reason(&out->connect, true, "allowed by allowUnixSockets", NULL,
                          (struct fs_source){"allowUnixSockets", entry}, err);
    return explainer->place.supervised
               ? set_plain(&out->connect, false, "unix socket of the host, see allowUnixSockets", err)
               : set_plain(&out->connect, true, "sockets of the host are not told apart on this host", err);
}

/* --- one path --- */

static int judge_links(const struct path_explainer *explainer, const struct resolved_path *file,
                       struct mount_verdict *verdict, struct error *err) {
    for (size_t i = 0; verdict->readable && i < file->links.count; i++) {
        struct mount_verdict link;
        if (path_access_own(file->links.items[i]) != NULL)
            continue;
        if (mount_plan_judge(&explainer->rules, file->links.items[i], &link, err) != 0)
            return -1;
        if (!link.readable && !link.shown) {
            *verdict = link;
            verdict->writable = false;
        }
    }
    return 0;
}

static int judge_host(const struct explained_path *asked, bool folder, struct explained_path *out,
                      struct error *err) {
    const char *way = asked->exists ? asked->resolved : NULL;
    bool readable = way == NULL || path_access_is_allowed(way, folder ? R_OK | X_OK : R_OK);
    bool writable = way == NULL ? path_access_can_be_made(asked->resolved)
                                : path_access_is_allowed(way, folder ? W_OK | X_OK : W_OK);
    if (out->read.allowed && !readable && set_plain(&out->read, false, path_access_why_host, err) != 0)
        return -1;
    if (out->write.allowed && !writable)
        return set_plain(&out->write, false, path_access_why_host, err);
    return 0;
}

/* The one folder outside the write roots for which there is an option of its own. */
static void name_package_cache(const struct fs_rules *rules, struct explained_path *out) {
    bool by_default = !out->write.allowed && out->read.allowed && out->write.at == NULL;
    if (by_default && rules->package_cache != NULL && path_is_within(out->resolved, rules->package_cache))
        out->write.why = WHY_PACKAGE_CACHE;
}

/* A read-only mount is about what a file system holds. */
static int judge_fifo(const struct resolved_path *file, const struct mount_verdict *verdict,
                      struct explained_path *out, struct error *err) {
    if (!out->exists || !S_ISFIFO(file->mode) || !verdict->readable || verdict->writable)
        return 0;
    return set_plain(&out->write, true, "a FIFO of the host, which read-only mounts do not close", err);
}

/* The order in which the sandbox asks: mounts and names of the rules, then the host's own permissions. */
static int judge(struct path_explainer *explainer, const struct resolved_path *file,
                 struct explained_path *out, struct error *err) {
    struct mount_verdict verdict;
    const bool folder = out->exists && S_ISDIR(file->mode);
    if (mount_plan_judge(&explainer->rules, out->resolved, &verdict, err) != 0 ||
        judge_links(explainer, file, &verdict, err) != 0 || set_by_mounts(&verdict, out, err) != 0 ||
        judge_fifo(file, &verdict, out, err) != 0)
        return -1;
    name_package_cache(&explainer->rules, out);
    if (verdict.own && set_both(out, true, "the sandbox has a folder of its own there", err) != 0)
        return -1;
    if (out->read.allowed && set_by_name(explainer, RULE_READ, out->resolved, &out->read, err) != 0)
        return -1;
    if (out->read.allowed && !out->exists && judge_later(explainer, out->resolved, &out->read, err) != 0)
        return -1;
    if ((out->write.allowed || fs_rules_is_writable(&explainer->rules, out->resolved)) &&
        (judge_write_by_name(explainer, out, folder, &out->write, err) != 0 ||
         add_protected_name(explainer, out->resolved, &out->write, err) != 0))
        return -1;
    return verdict.own ? 0 : judge_host(out, folder, out, err);
}

/* The rules' words for what is denied come first, as in violations. */
static const char *why_not_written(const struct path_explainer *explainer, const char *path,
                                   const struct own_place *own) {
    const struct fs_rules *rules = &explainer->rules;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_DENY_WRITE && path_is_within(path, rules->items[i].path))
            return rules->items[i].why;
    return own->why_read_only;
}

static int judge_own(const struct path_explainer *explainer, const char *path, struct explained_path *out,
                     struct error *err) {
    const struct own_place *own = path_access_own(path);
    out->exists = own->readable && access(path, F_OK) == 0;
    if (set_plain(&out->read, own->readable, own->why, err) != 0)
        return -1;
    return set_plain(&out->write, own->writable,
                     own->writable ? own->why : why_not_written(explainer, path, own), err);
}

static int judge_found(struct path_explainer *explainer, enum resolve_outcome outcome,
                       const struct resolved_path *file, struct explained_path *out, struct error *err) {
    if (path_access_own(out->resolved) != NULL)
        return judge_own(explainer, out->resolved, out, err);
    if (outcome == RESOLVE_UNREACHABLE) {
        out->exists = false;
        if (judge(explainer, file, out, err) != 0)
            return -1;
        bool denied = !out->read.allowed;
        return denied ? 0 : set_both(out, false, path_access_why_host, err);
    }
    if (judge(explainer, file, out, err) != 0)
        return -1;
    size_t entry;
    if (find_socket_entry(explainer, out->resolved, &entry, err) != 0)
        return -1;
    bool listed = entry < explainer->options->network.allow_unix_sockets.count;
    out->is_socket = out->exists ? S_ISSOCK(file->mode) : listed;
    return out->is_socket ? judge_connect(explainer, listed, entry, out, err) : 0;
}

int explain_path(struct path_explainer *explainer, const char *path, struct explained_path *out,
                 struct error *err) {
    *out =
        (struct explained_path){.path = fs_entry_expand(path, explainer->place.cwd, explainer->place.home)};
    if (out->path == NULL)
        return error_memory(err);
    /* Where they lead is another one inside. */
    if (path_is_normal(out->path) && path_access_own(out->path) != NULL)
        return judge_own(explainer, out->path, out, err);
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(out->path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (result == 0 && (out->resolved = strdup(file.path)) == NULL) {
        error_memory(err);
        result = -1;
    }
    out->exists = outcome == RESOLVE_FOUND;
    if (result == 0)
        result = judge_found(explainer, outcome, &file, out, err);
    resolved_path_clear(&file);
    return result;
}
