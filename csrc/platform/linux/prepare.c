#include "platform/linux/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/environment.h"
#include "exec/payload.h"
#include "exec/wire.h"
#include "platform/linux/kernel_mounts.h"
#include "platform/linux/resource_limits.h"
#include "platform/linux/thread_rights.h"
#include "platform/resolve.h"
#include "policy/private_folders.h"
#include "policy/unix_sockets.h"

/* Pins are directories that the rules did not name: the stage compares them with what they are now. */
static int identify_pins(struct mount_plan *plan, struct error *err) {
    for (size_t i = 0; i < plan->count; i++) {
        struct mount *mount = &plan->items[i];
        if (mount->kind != MOUNT_PIN)
            continue;
        struct resolved_path file;
        enum resolve_outcome outcome = path_resolve(mount->path, &file, err);
        if (outcome == RESOLVE_FAILED)
            return -1;
        bool same = outcome == RESOLVE_FOUND && strcmp(file.path, mount->path) == 0;
        mount->device = file.device;
        mount->inode = file.inode;
        resolved_path_clear(&file);
        if (!same)
            return error_set(err, ERROR_HOST, 0, "%s was replaced while the sandbox was set up", mount->path);
    }
    return 0;
}

static struct payload_mount *payload_mounts(const struct mount_plan *plan) {
    struct payload_mount *mounts = calloc(plan->count + 1, sizeof *mounts);
    for (size_t i = 0; mounts != NULL && i < plan->count; i++)
        mounts[i] = (struct payload_mount){.kind = plan->items[i].kind,
                                           .device = plan->items[i].device,
                                           .inode = plan->items[i].inode,
                                           .path = plan->items[i].path};
    return mounts;
}

/* Commands have a /proc of their own; the rest is said of the rules that deny. */
static const struct payload_reason own_proc = {.path = "/proc", .why = "kernel files"};

static bool has_reason(const struct payload_reason *reasons, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(reasons[i].path, path) == 0)
            return true;
    return false;
}

/* What a plan's mount means that no rule has a reason for, NULL for nothing. */
static const char *reason_of_mount(enum mount_kind kind) {
    switch (kind) {
    case MOUNT_PIN: /* what lies below it and is refused has a longer path */
        return "holds a denied path";
    case MOUNT_READ_ONLY: /* open for reading in a place that is closed */
        return "outside the write roots";
    case MOUNT_WRITABLE:
    case MOUNT_MASK_DIR:
    case MOUNT_MASK_FILE:
    case MOUNT_MASK_HOLES:
    case MOUNT_LINK:
    case MOUNT_FOLDER:
    case MOUNT_PRIVATE_TMP:
    case MOUNT_PRIVATE_COPY:
    case MOUNT_PRIVATE_EMPTY:
    case MOUNT_KINDS:
        break;
    }
    return NULL;
}

static struct payload_reason *payload_reasons(const struct fs_rules *rules, const struct mount_plan *plan,
                                              size_t *count) {
    struct payload_reason *reasons = calloc(rules->count + plan->count + 2, sizeof *reasons);
    *count = 0;
    if (reasons == NULL)
        return NULL;
    reasons[(*count)++] = own_proc;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].why != NULL)
            reasons[(*count)++] =
                (struct payload_reason){.path = rules->items[i].path, .why = rules->items[i].why};
    if (rules->package_cache != NULL && !has_reason(reasons, *count, rules->package_cache))
        reasons[(*count)++] = (struct payload_reason){.path = rules->package_cache, .why = WHY_PACKAGE_CACHE};
    const size_t denied = *count;
    for (size_t i = 0; i < plan->count; i++) {
        const char *why = reason_of_mount(plan->items[i].kind);
        if (why != NULL && !has_reason(reasons, denied, plan->items[i].path))
            reasons[(*count)++] = (struct payload_reason){.path = plan->items[i].path, .why = why};
    }
    return reasons;
}

struct payload_rule *prepare_payload_rules(const struct fs_rules *rules) {
    struct payload_rule *out = calloc(rules->name_count + 1, sizeof *out);
    for (size_t i = 0; out != NULL && i < rules->name_count; i++)
        out[i] = (struct payload_rule){.kind = rules->names[i].read ? PAYLOAD_DENY_READ : PAYLOAD_DENY_WRITE,
                                       .glob = rules->names[i].glob,
                                       .path = rules->names[i].path,
                                       .why = rules->names[i].why};
    return out;
}

/* What is hidden already needs no mask when it comes. */
static struct payload_mount *payload_later(const struct fs_rules *rules, const struct mount_plan *plan,
                                           size_t *count) {
    struct payload_mount *later = calloc(rules->later.count + 1, sizeof *later);
    *count = 0;
    for (size_t i = 0; later != NULL && i < rules->later.count; i++)
        if (mount_plan_shows(plan, rules->later.items[i]))
            later[(*count)++] =
                (struct payload_mount){.kind = MOUNT_MASK_FILE, .path = rules->later.items[i]};
    return later;
}

static bool names_denied_file(const struct strvec *argv, const struct fs_rules *rules) {
    for (size_t a = 0; a < argv->count; a++)
        for (size_t n = 0; n < rules->read_denied_names.count; n++)
            if (strstr(argv->items[a], rules->read_denied_names.items[n]) != NULL)
                return true;
    return false;
}

/* What comes to match while the command runs has no mask: it is the supervisor that refuses it. */
static bool denies_reading_by_pattern(const struct fs_rules *rules) {
    for (size_t i = 0; i < rules->name_count; i++)
        if (rules->names[i].read && rules->names[i].glob)
            return true;
    return false;
}

/*
 * Opens for reading are looked at where that was asked for, and where the command names a file that it may
 * not read: then the report is the kernel's answer, and no guess from what the command says on its stderr.
 */
static uint32_t choose_supervision(const struct prepare_request *request, const struct fs_rules *rules) {
    const struct options *options = request->options;
    uint32_t wanted = SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_OPTIONAL | SUPERVISE_UNFILTERED;
    if ((options->monitor_violations &&
         (options->monitor_reads || names_denied_file(&request->argv, rules))) ||
        denies_reading_by_pattern(rules))
        wanted |= SUPERVISE_READS;
    uint32_t supervision = wanted & request->supervision_allowed;
    bool quiet = !options->monitor_violations && (supervision & SUPERVISE_PATHS) != 0;
    bool follows = options->network.allow_local_binding && request->proxy != NULL && !request->own_proxy;
    /* Who is allowed to be talked to may hand over sockets of the host's network (socket_network.h). */
    bool listens =
        (follows || options->network.allow_unix_sockets.count > 0) && (supervision & SUPERVISE_FILTER) != 0;
    return supervision | (quiet ? SUPERVISE_QUIETLY : 0u) | (listens ? SUPERVISE_LISTENS : 0u);
}

/* The process's umask without setting it: umask(2) can only be read by writing, which other threads would
 * see. */
static uint32_t current_umask(void) {
    char text[1024];
    cleanup_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        return 022;
    text[got] = '\0';
    const char *line = strstr(text, "\nUmask:");
    return line == NULL ? 022 : (uint32_t)strtoul(line + strlen("\nUmask:"), NULL, 8);
}

static bool is_private_root(const struct mount_plan *plan, const char *path) {
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].kind == MOUNT_PRIVATE_TMP && strcmp(plan->items[i].path, path) == 0)
            return true;
    return false;
}

struct tmpdir_look {
    const struct mount_plan *plan;
    bool private;
};

/* Where it is private nothing in it is the host's but what the plan shows. */
static bool shows_tmpdir(void *data, const char *path) {
    const struct tmpdir_look *look = data;
    struct resolved_path file = {0};
    struct error ignored = {0};
    struct stat facts;
    if (!look->private)
        return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    bool found = path[0] == '/' && path_resolve(path, &file, &ignored) == RESOLVE_FOUND && S_ISDIR(file.mode);
    bool shown = found && (is_private_root(look->plan, file.path) || mount_plan_shows(look->plan, file.path));
    resolved_path_clear(&file);
    return shown;
}

/* Where npm's cache is not on the host, a mount point cannot be made for one: npm makes it there. */
static const char *cache_instead(const struct fs_options *options) {
    return options->private_tmp ? "/tmp/npm-cache" : "/dev/shm/npm-cache";
}

static int set_up_env(struct prepare_request *request, const struct fs_rules *rules,
                      const struct mount_plan *plan, struct error *err) {
    const struct fs_options *options = &request->options->fs;
    struct tmpdir_look look = {.plan = plan, .private = options->private_tmp};
    if (env_repair_tmpdir(&request->env, options->private_tmp, shows_tmpdir, &look) != 0 ||
        (rules->cache_is_missing && env_set_package_cache(&request->env, cache_instead(options)) != 0))
        return error_memory(err);
    return 0;
}

/* Without a tree of the session there is nothing to share. */
static int warn_of_own_folders(const struct prepare_request *request, struct strvec *warnings,
                               struct error *err) {
    const struct fs_options *options = &request->options->fs;
    if (request->features.mounted_before)
        return 0;
    if (options->private_tmp &&
        strvec_push(warnings, "the private temporary directory is not shared on this host: each command has "
                              "one of its own") != 0)
        return error_memory(err);
    if (options->package_cache &&
        strvec_push(warnings, "npm's cache is not shown to commands, each has an empty one: this host has no "
                              "mount namespace for a sandbox") != 0)
        return error_memory(err);
    return 0;
}

static char *join_arguments(const struct strvec *arguments, size_t *size) {
    *size = 0;
    for (size_t i = 0; i < arguments->count; i++)
        *size += strlen(arguments->items[i]) + 1;
    char *joined = malloc(*size + 1);
    char *at = joined;
    for (size_t i = 0; joined != NULL && i < arguments->count; i++)
        at = stpcpy(at, arguments->items[i]) + 1;
    return joined;
}

static int write_memfd(const void *data, size_t size, int *out, struct error *err) {
    cleanup_fd int fd = memfd_create("os-sandbox-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set(err, ERROR_HOST, errno, "memfd_create");
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, (const char *)data + done, size - done);
        if (written < 0 && errno != EINTR)
            return error_set(err, ERROR_HOST, errno, "writing a run's payload");
        done += written < 0 ? 0 : (size_t)written;
    }
    /* Agent, supervisor and stage read it in place, at different times. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return error_set(err, ERROR_HOST, errno, "sealing a run's payload");
    *out = steal_fd(&fd);
    return 0;
}

/* Where everything is closed but what is named, links that lead to the cwd are not there. NULL: as written.
 */
static char *real_cwd(const struct prepare_request *request) {
    struct resolved_path file = {0};
    struct error ignored = {0};
    char *real = NULL;
    if (fs_options_are_strict(&request->options->fs) &&
        path_resolve(request->cwd, &file, &ignored) == RESOLVE_FOUND) {
        real = file.path;
        file.path = NULL;
    }
    resolved_path_clear(&file);
    return real;
}

static int write_payload(struct prepare_request *request, const struct fs_rules *rules,
                         const struct mount_plan *plan, const struct strvec *sockets, const char *cwd,
                         int *out, struct error *err) {
    struct strvec arguments = {0};
    unsigned mask_files = 0;
    int result =
        bwrap_args_from_plan(plan, &request->features, LAUNCH_FD_FIRST_MASK, &arguments, &mask_files, err);
    size_t arguments_size = 0;
    cleanup_free char *joined = result == 0 ? join_arguments(&arguments, &arguments_size) : NULL;
    cleanup_free struct payload_mount *mounts = payload_mounts(plan);
    size_t reason_count;
    cleanup_free struct payload_reason *reasons = payload_reasons(rules, plan, &reason_count);
    cleanup_free struct payload_rule *names = prepare_payload_rules(rules);
    const struct control_groups none = {0};
    const struct control_groups *groups = request->control_groups != NULL ? request->control_groups : &none;
    size_t later_count;
    cleanup_free struct payload_mount *later = payload_later(rules, plan, &later_count);
    strvec_clear(&arguments);
    if (result != 0)
        return -1;
    struct payload payload = {.bwrap = request->bwrap,
                              .cwd = cwd,
                              .argv = request->argv.items,
                              .argc = request->argv.count,
                              .envp = request->env.items,
                              .envc = request->env.count,
                              .cost = request->options->limits,
                              .group_parent = groups->folder,
                              .group_processes = groups->processes,
                              .mounts = mounts,
                              .mount_count = plan->count,
                              .root_writable = plan->root_writable,
                              .read_denied = rules->read_denied.items,
                              .read_denied_count = rules->read_denied.count,
                              .write_denied = rules->write_denied.items,
                              .write_denied_count = rules->write_denied.count,
                              .supervision = choose_supervision(request, rules),
                              .own_proxy = request->own_proxy,
                              .reasons = reasons,
                              .reason_count = reason_count,
                              .rules = names,
                              .rule_count = rules->name_count,
                              .opened = rules->opened.items,
                              .opened_count = rules->opened.count,
                              .freed_names = fs_options_freed_names(&request->options->fs),
                              .allow_git_config = request->options->fs.allow_git_config,
                              .common_dir = rules->common_dir,
                              .worktree = rules->worktree,
                              .later = later,
                              .later_count = later_count,
                              .unix_sockets = sockets->items,
                              .unix_socket_count = sockets->count,
                              .mask_count = mask_files,
                              .arguments = joined,
                              .arguments_size = arguments_size};
    resource_limits_fill(&payload);
    payload.nice = getpriority(PRIO_PROCESS, (id_t)getpid());
    payload.file_mode_mask = current_umask();
    size_t size = 0;
    cleanup_free void *data =
        joined != NULL && mounts != NULL && reasons != NULL && names != NULL && later != NULL
            ? payload_encode(&payload, &size)
            : NULL;
    return data == NULL ? error_memory(err) : write_memfd(data, size, out, err);
}

int prepare_list_read_only(struct strvec *out, struct error *err) {
    if (strvec_push(out, "/sys") != 0)
        return error_memory(err);
    return geteuid() == 0 ? kernel_mounts_list(out, err) : 0;
}

/* What execvp(3) of glibc searches where PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

static const char *search_path(const struct strvec *env) {
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], "PATH=", 5) == 0)
            return env->items[i] + 5;
    return DEFAULT_PATH;
}

static void describe_command(struct prepare_request *request) {
    request->place.supervised = (request->supervision_allowed & SUPERVISE_PATHS) != 0;
    request->place.unix_sockets = &request->options->network.allow_unix_sockets;
    request->place.search_path = search_path(&request->env);
    request->place.program = request->argv.count > 0 ? request->argv.items[0] : NULL;
    request->place.start = request->cwd;
}

int prepare_run(struct prepare_request *request, int *payload_fd, struct strvec *warnings,
                struct error *err) {
    struct fs_rules rules = {0};
    struct mount_plan plan = {0};
    struct thread_rights rights;
    *payload_fd = -1;
    struct strvec read_only = {0};
    struct strvec sockets = {0};
    int result = prepare_list_read_only(&read_only, err);
    request->place.always_read_only = &read_only;
    describe_command(request);
    cleanup_free char *cache = env_package_cache(&request->env, request->place.home, request->cwd);
    if (result == 0 && cache == NULL)
        result = error_memory(err);
    request->place.package_cache = cache;
    thread_rights_lower(&rights);
    if (result == 0)
        result = fs_rules_resolve(&request->options->fs, &request->place, &rules, err);
    if (result == 0)
        result = mount_plan_build(&rules, &plan, err);
    if (result == 0)
        result = identify_pins(&plan, err);
    if (result == 0)
        result = set_up_env(request, &rules, &plan, err);
    if (result == 0)
        result = warn_of_own_folders(request, warnings, err);
    if (result == 0)
        result = unix_sockets_resolve(&request->options->network, &request->place, &sockets, warnings, err);
    if (result == 0)
        env_withhold_sockets(&request->env, request->own_env, &sockets);
    if (result == 0 && request->proxy != NULL &&
        env_name_proxy(&request->env, request->own_env, request->proxy, request->every_client) != 0)
        result = error_memory(err);
    cleanup_free char *cwd = result == 0 ? real_cwd(request) : NULL;
    thread_rights_restore(&rights);
    if (result == 0 && strvec_push_all(warnings, &rules.warnings) != 0)
        result = error_memory(err);
    if (result == 0)
        result = write_payload(request, &rules, &plan, &sockets, cwd == NULL ? request->cwd : cwd, payload_fd,
                               err);
    mount_plan_clear(&plan);
    fs_rules_clear(&rules);
    strvec_clear(&read_only);
    strvec_clear(&sockets);
    return result;
}
