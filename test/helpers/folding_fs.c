/*
 * A small file system in memory that compares names without case, over /dev/fuse: folding_fs MOUNT_POINT.
 * For tests on kernels that have none. Mounts it, tells so on stdout, and serves until it is unmounted, or
 * who started it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NODES_MAX 4096
#define BUFFER_SIZE (1 << 20)

/* A node's number is its index; it stays after its name is gone. */
struct node {
    uint64_t parent; /* 0: it has no name */
    char name[256];
    uint32_t mode;
    char *data; /* content, or a symlink's target */
    size_t size;
    struct timespec changed;
};

static struct node nodes[NODES_MAX];
static uint64_t node_count = FUSE_ROOT_ID + 1;
static int device;
static char buffer[BUFFER_SIZE];

static void reply(uint64_t unique, int error, const void *data, size_t size) {
    struct fuse_out_header header = {
        .len = (uint32_t)(sizeof header + size), .error = error, .unique = unique};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)(uintptr_t)data, size}};
    if (writev(device, parts, 2) < 0 && errno != ENOENT)
        perror("writev");
}

static uint64_t find(uint64_t parent, const char *name) {
    for (uint64_t i = FUSE_ROOT_ID + 1; i < node_count; i++)
        if (nodes[i].parent == parent && strcasecmp(nodes[i].name, name) == 0)
            return i;
    return 0;
}

static void touch(uint64_t node) {
    clock_gettime(CLOCK_REALTIME, &nodes[node].changed);
}

static struct fuse_attr attributes_of(uint64_t id) {
    const struct node *node = &nodes[id];
    return (struct fuse_attr){.ino = id,
                              .size = node->size,
                              .blocks = (node->size + 511) / 512,
                              .mtime = (uint64_t)node->changed.tv_sec,
                              .ctime = (uint64_t)node->changed.tv_sec,
                              .mtimensec = (uint32_t)node->changed.tv_nsec,
                              .ctimensec = (uint32_t)node->changed.tv_nsec,
                              .mode = node->mode,
                              .nlink = 1,
                              .uid = getuid(),
                              .gid = getgid(),
                              .blksize = 4096};
}

static struct fuse_entry_out entry_of(uint64_t id) {
    return (struct fuse_entry_out){.nodeid = id, .attr = attributes_of(id)};
}

/* 0: there is one of that name, or no room. */
static uint64_t make(uint64_t parent, const char *name, uint32_t mode) {
    if (find(parent, name) != 0 || node_count == NODES_MAX || strlen(name) >= sizeof nodes[0].name)
        return 0;
    struct node *node = &nodes[node_count];
    node->parent = parent;
    strcpy(node->name, name);
    node->mode = mode;
    touch(node_count);
    touch(parent);
    return node_count++;
}

static void reply_made(uint64_t unique, uint64_t id) {
    struct fuse_entry_out entry = entry_of(id);
    reply(unique, id == 0 ? -EEXIST : 0, &entry, id == 0 ? 0 : sizeof entry);
}

static void set_size(struct node *node, size_t size) {
    char *data = realloc(node->data, size + 1);
    if (data == NULL)
        exit(1);
    if (size > node->size)
        memset(data + node->size, 0, size - node->size);
    node->data = data;
    node->size = size;
}

static bool is_empty(uint64_t folder) {
    for (uint64_t i = FUSE_ROOT_ID + 1; i < node_count; i++)
        if (nodes[i].parent == folder)
            return false;
    return true;
}

static int remove_name(uint64_t parent, const char *name) {
    uint64_t id = find(parent, name);
    if (id == 0)
        return -ENOENT;
    if (S_ISDIR(nodes[id].mode) && !is_empty(id))
        return -ENOTEMPTY;
    nodes[id].parent = 0;
    touch(parent);
    return 0;
}

static int rename_to(uint64_t parent, const char *name, uint64_t new_parent, const char *new_name,
                     uint32_t flags) {
    uint64_t id = find(parent, name);
    uint64_t there = find(new_parent, new_name);
    if (id == 0)
        return -ENOENT;
    if (flags & ~1u)
        return -EINVAL;
    if (there != 0 && there != id) {
        if (flags & 1u)
            return -EEXIST;
        int error = remove_name(new_parent, new_name);
        if (error != 0)
            return error;
    }
    nodes[id].parent = new_parent;
    strcpy(nodes[id].name, new_name);
    touch(parent);
    touch(new_parent);
    return 0;
}

static void set_attributes(struct node *node, const struct fuse_setattr_in *wanted) {
    if (wanted->valid & FATTR_MODE)
        node->mode = (node->mode & S_IFMT) | (wanted->mode & 07777);
    if (wanted->valid & FATTR_SIZE)
        set_size(node, wanted->size);
}

static void read_folder(uint64_t unique, uint64_t folder, const struct fuse_read_in *wanted) {
    static char entries[65536];
    size_t used = 0;
    uint64_t first = wanted->offset < FUSE_ROOT_ID + 1 ? FUSE_ROOT_ID + 1 : wanted->offset;
    for (uint64_t i = first; i < node_count; i++) {
        if (nodes[i].parent != folder)
            continue;
        size_t length = strlen(nodes[i].name);
        size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
        if (used + size > wanted->size || used + size > sizeof entries)
            break;
        struct fuse_dirent *entry = (void *)(entries + used);
        memset(entry, 0, size);
        entry->ino = i;
        entry->off = i + 1;
        entry->namelen = (uint32_t)length;
        entry->type = (nodes[i].mode & S_IFMT) >> 12;
        memcpy(entry->name, nodes[i].name, length);
        used += size;
    }
    reply(unique, 0, entries, used);
}

static void serve_content(const struct fuse_in_header *in, const void *body) {
    struct node *node = &nodes[in->nodeid];
    const struct fuse_read_in *wanted = body;
    if (in->opcode == FUSE_READ) {
        size_t from = wanted->offset > node->size ? node->size : wanted->offset;
        size_t size = node->size - from > wanted->size ? wanted->size : node->size - from;
        reply(in->unique, 0, node->data + from, size);
        return;
    }
    const struct fuse_write_in *written = body;
    if (written->offset + written->size > node->size)
        set_size(node, written->offset + written->size);
    memcpy(node->data + written->offset, written + 1, written->size);
    touch(in->nodeid);
    struct fuse_write_out out = {.size = written->size};
    reply(in->unique, 0, &out, sizeof out);
}

static void serve_new(const struct fuse_in_header *in, const void *body) {
    const char *name = body;
    uint64_t id = 0;
    if (in->opcode == FUSE_SYMLINK) {
        const char *target = name + strlen(name) + 1;
        id = make(in->nodeid, name, S_IFLNK | 0777);
        if (id != 0) {
            set_size(&nodes[id], strlen(target));
            memcpy(nodes[id].data, target, strlen(target));
        }
    } else if (in->opcode == FUSE_MKDIR) {
        const struct fuse_mkdir_in *wanted = body;
        id = make(in->nodeid, (const char *)(wanted + 1), S_IFDIR | wanted->mode);
    } else {
        const struct fuse_mknod_in *wanted = body;
        id = make(in->nodeid, (const char *)(wanted + 1), wanted->mode);
    }
    reply_made(in->unique, id);
}

static void serve_create(const struct fuse_in_header *in, const void *body) {
    const struct fuse_create_in *wanted = body;
    uint64_t id = make(in->nodeid, (const char *)(wanted + 1), wanted->mode);
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } out = {.entry = entry_of(id), .open = {0}};
    reply(in->unique, id == 0 ? -EEXIST : 0, &out, id == 0 ? 0 : sizeof out);
}

static void serve_names(const struct fuse_in_header *in, const void *body) {
    const struct fuse_rename_in *plain = body;
    const struct fuse_rename2_in *flagged = body;
    bool flags = in->opcode == FUSE_RENAME2;
    const char *name = flags ? (const char *)(flagged + 1) : (const char *)(plain + 1);
    int error =
        rename_to(in->nodeid, name, plain->newdir, name + strlen(name) + 1, flags ? flagged->flags : 0);
    reply(in->unique, error, NULL, 0);
}

static void serve_attributes(const struct fuse_in_header *in, const void *body) {
    if (in->opcode == FUSE_SETATTR) {
        set_attributes(&nodes[in->nodeid], body);
        touch(in->nodeid);
    }
    struct fuse_attr_out out = {.attr = attributes_of(in->nodeid)};
    reply(in->unique, 0, &out, sizeof out);
}

static void serve(const struct fuse_in_header *in, const void *body) {
    static const struct fuse_init_out begin = {
        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 65536, .max_write = 65536};
    static const struct fuse_open_out open = {.open_flags = FOPEN_DIRECT_IO};
    static const struct fuse_statfs_out volume = {.st = {.bsize = 4096, .namelen = 255, .blocks = 1000}};
    switch (in->opcode) {
    case FUSE_INIT:
        reply(in->unique, 0, &begin, sizeof begin);
        break;
    case FUSE_LOOKUP: {
        uint64_t id = find(in->nodeid, body);
        struct fuse_entry_out entry = entry_of(id);
        reply(in->unique, id == 0 ? -ENOENT : 0, &entry, id == 0 ? 0 : sizeof entry);
        break;
    }
    case FUSE_GETATTR:
    case FUSE_SETATTR:
        serve_attributes(in, body);
        break;
    case FUSE_READLINK:
        reply(in->unique, 0, nodes[in->nodeid].data, nodes[in->nodeid].size);
        break;
    case FUSE_SYMLINK:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
        serve_new(in, body);
        break;
    case FUSE_CREATE:
        serve_create(in, body);
        break;
    case FUSE_UNLINK:
    case FUSE_RMDIR:
        reply(in->unique, remove_name(in->nodeid, body), NULL, 0);
        break;
    case FUSE_RENAME:
    case FUSE_RENAME2:
        serve_names(in, body);
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        reply(in->unique, 0, &open, sizeof open);
        break;
    case FUSE_READ:
    case FUSE_WRITE:
        serve_content(in, body);
        break;
    case FUSE_READDIR:
        read_folder(in->unique, in->nodeid, body);
        break;
    case FUSE_STATFS:
        reply(in->unique, 0, &volume, sizeof volume);
        break;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
    case FUSE_DESTROY:
        reply(in->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(in->unique, -ENOSYS, NULL, 0);
    }
}

int main(int count, char **arguments) {
    char options[128];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options,
             "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other,default_permissions", device,
             (unsigned)getuid(), (unsigned)getgid());
    if (count != 2 || device < 0 ||
        mount("folding", arguments[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        perror("folding_fs");
        return 1;
    }
    nodes[FUSE_ROOT_ID] = (struct node){.mode = S_IFDIR | 0755};
    touch(FUSE_ROOT_ID);
    puts("mounted");
    fclose(stdout);
    for (;;) {
        ssize_t got = read(device, buffer, sizeof buffer);
        if (got < 0 && errno == ENODEV)
            return 0;
        if (got >= (ssize_t)sizeof(struct fuse_in_header))
            serve((const void *)buffer, buffer + sizeof(struct fuse_in_header));
        else if (got >= 0 || (errno != EINTR && errno != ENOENT && errno != EAGAIN))
            return 1;
    }
}
