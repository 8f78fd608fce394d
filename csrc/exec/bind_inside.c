#include "exec/bind_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/capabilities.h"
#include "exec/target.h"

/* What the child works with. */
struct binding {
    int stage;
    int folder; /* where a relative path starts */
    int parent; /* where the path leads, before its last component */
    int socket;
    const struct sockaddr *address;
    socklen_t length;
    char *stand_in; /* a path in procfs that is to lead there; NULL */
};

/* Copies of files that other threads are about to hand over would keep those locked and busy. */
static int keep_only(const struct binding *binding) {
    const int kept[] = {binding->stage, binding->folder, binding->parent, binding->socket};
    for (unsigned from = 0;;) {
        int next = -1;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if ((unsigned)kept[i] >= from && (next < 0 || kept[i] < next))
                next = kept[i];
        if (next < 0)
            return (int)syscall(SYS_close_range, from, ~0u, 0u);
        if ((unsigned)next > from && syscall(SYS_close_range, from, (unsigned)next - 1, 0u) != 0)
            return -1;
        from = (unsigned)next + 1;
    }
}

/* The folders on the way, and the last one; the text is as before afterwards. */
static int make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int result = mkdir(path, 0700);
        *slash = '/';
        if (result != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

/*
 * In a mount namespace of its own the child sees another procfs: a few folders, and the parent in the last.
 * That is its current folder meanwhile, which goes along to the copies of the mounts.
 */
static int stand_in(const struct binding *binding) {
    bool done = fchdir(binding->parent) == 0 && unshare(CLONE_NEWNS) == 0 &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0 && make_folders(binding->stand_in) == 0 &&
                mount(".", binding->stand_in, NULL, MS_BIND | MS_REC, NULL) == 0;
    return done ? 0 : -1;
}

/* Entering a user namespace gives all capabilities in it, which a command has not. Every status but 0 is an
 * errno. */
static _Noreturn void child_main(const struct binding *binding) {
    if (keep_only(binding) != 0 || setns(binding->stage, CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        (binding->stand_in != NULL && stand_in(binding) != 0) || fchdir(binding->folder) != 0 ||
        capabilities_keep(CAPABILITIES_NONE) != 0)
        _exit(EACCES);
    _exit(bind(binding->socket, binding->address, binding->length) == 0 ? 0 : errno);
}

static int bind_in_child(const struct binding *binding) {
    /* Only system calls in the child: other threads may have held any lock. */
    pid_t child = fork();
    if (child == 0)
        child_main(binding);
    if (child < 0)
        return EAGAIN;
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EAGAIN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
}

/* The folder of a path that goes by the process's own part of procfs. False: it does not. */
static bool own_folder(const char *path, char *into, size_t size) {
    static const char *const own[][2] = {{"/proc/self/", "/proc/self/"},
                                         {"/proc/thread-self/", "/proc/thread-self/"},
                                         {"/dev/fd/", "/proc/self/fd/"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        size_t length = strlen(own[i][0]);
        if (strncmp(path, own[i][0], length) != 0 || strrchr(path, '/') < path + length)
            continue;
        const char *rest = path + length;
        snprintf(into, size, "%s%.*s", own[i][1], (int)(strrchr(path, '/') - rest), rest);
        return true;
    }
    return false;
}

int bind_inside(struct call *call, int socket, const struct socket_address *address, const char *path,
                const struct place *place) {
    char own[sizeof(struct sockaddr_un) + 16];
    cleanup_fd int folder = target_folder(call, AT_FDCWD);
    if (folder < 0)
        return -folder;
    struct binding binding = {.stage = call->supervisor->stage,
                              .folder = folder,
                              .parent = place->parent,
                              .socket = socket,
                              .address = &address->any,
                              .length = address->length};
    umask(target_umask(call));
    int error = bind_in_child(&binding);
    if (error != ENOENT || !own_folder(path, own, sizeof own))
        return error;
    binding.stand_in = own;
    return bind_in_child(&binding);
}
