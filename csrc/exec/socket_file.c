#include "exec/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/socket_list.h"
#include "exec/explain.h"
#include "exec/file_identity.h"
#include "exec/report.h"
#include "exec/unix_diag.h"
#include "exec/walk.h"

#define OPERATION "network-outbound"

/* A socket's file, as the kernel may list it. */
struct socket_file {
    int fd;
    struct file_identity identity;
    dev_t superblock; /* the same device, where it is known to be no other */
    char path[PATH_MAX];
};

static enum unix_diag_answer lists(struct unix_diag *diag, const struct socket_file *file,
                                   struct unix_diag_name *bound) {
    enum unix_diag_answer answer = unix_diag_lists(diag, file->identity.device, file->identity.inode, bound);
    if (answer == DIAG_NOT_LISTED && file->superblock != file->identity.device)
        answer = unix_diag_lists(diag, file->superblock, file->identity.inode, bound);
    return answer;
}

/* The numbers that are compared do not tell the file from all others: on btrfs each subvolume counts its own.
 */
static bool is_ambiguous(const struct socket_file *file) {
    return file->superblock != file->identity.device || file->identity.inode > UINT32_MAX;
}

static bool is_made_inside(const struct supervisor *supervisor, const struct socket_file *file) {
    return lists(supervisor->unix_diag, file, NULL) == DIAG_LISTED &&
           (!is_ambiguous(file) || lists(supervisor->host_unix_diag, file, NULL) == DIAG_NOT_LISTED);
}

static bool is_listed(const struct payload *payload, const char *path) {
    return socket_list_has(payload->unix_sockets, payload->unix_socket_count, path);
}

/* A name that was relative when the socket was bound to it tells its last component. */
static bool is_last_component(const char *bound, const char *path) {
    const char *slash = strrchr(bound, '/');
    const char *last = strrchr(path, '/');
    return last != NULL && strcmp(slash == NULL ? bound : slash + 1, last + 1) == 0;
}

/*
 * Where commands may write, one could have moved any socket of the host to a path of the list: there it must
 * have been bound to one of these, too.
 */
static bool may_be_moved(const struct supervisor *supervisor, const struct socket_file *file,
                         struct unix_diag_name *bound) {
    if (is_on_read_only_mount(file->fd) || lists(supervisor->host_unix_diag, file, bound) != DIAG_LISTED)
        return false;
    return bound->text[0] == '/' ? !is_listed(supervisor->payload, bound->text)
                                 : !is_last_component(bound->text, file->path);
}

static int refuse(struct call *call, const struct socket_file *file, const char *why) {
    const struct denial denial = {.operation = OPERATION, .path = file->path, .why = why};
    report_denial(call->supervisor->report, call, &denial);
    return EACCES;
}

static int judge_listed(struct call *call, const struct socket_file *file) {
    struct unix_diag_name bound;
    char why[sizeof bound.text + 64];
    if (!may_be_moved(call->supervisor, file, &bound))
        return 0;
    snprintf(why, sizeof why, "unix socket of the host, bound to %s, see allowUnixSockets", bound.text);
    return refuse(call, file, why);
}

/* 0, or the errno of a socket that may not be reached; one that nobody listens on gives what the kernel
 * gives. */
static int judge_socket(struct call *call, struct socket_file *file) {
    const struct supervisor *supervisor = call->supervisor;
    file->superblock = file->identity.device;
    if (is_made_inside(supervisor, file))
        return 0;
    if (superblock_device(call->thread, file->identity.mount, &file->superblock) &&
        file->superblock != file->identity.device && is_made_inside(supervisor, file))
        return 0;
    object_path(file->fd, file->path, sizeof file->path);
    if (is_listed(supervisor->payload, file->path))
        return judge_listed(call, file);
    /* Nobody's any more, as far as this host tells; where no command can write it may be of another network,
     * as docker.sock in a container is. */
    if (lists(supervisor->host_unix_diag, file, NULL) == DIAG_NOT_LISTED && !is_on_read_only_mount(file->fd))
        return ECONNREFUSED;
    return refuse(call, file, "unix socket of the host, see allowUnixSockets");
}

/* As unix_find_other() of net/unix/af_unix.c: the right to write comes first, then the kind of the file. */
static int judge_object(struct call *call, int object) {
    struct socket_file file = {.fd = object};
    if (!file_identity(object, &file.identity))
        return errno;
    bool socket = S_ISSOCK(file.identity.mode);
    if (syscall(SYS_faccessat2, object, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) != 0 && errno == EACCES)
        /* The mode of a socket is its owner's word, that of a mask is ours. */
        return socket ? EACCES : (int)-explain_object(call, OPERATION, object, EACCES).value;
    return socket ? judge_socket(call, &file) : ECONNREFUSED;
}

int socket_file_judge(struct call *call, const char *path, int *object) {
    struct place place;
    cleanup_fd int found = walk_to_object(call, AT_FDCWD, path, true, &place);
    int error = found < 0 ? -found : judge_object(call, found);
    if (found == -EACCES)
        (void)explain_place(call, OPERATION, &place, EACCES);
    place_clear(&place);
    if (error == 0)
        *object = steal_fd(&found);
    return error;
}
