#include "exec/index_walk.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/hooks_path.h"

#define ENTRIES_MAX 5000000
#define DEPTH_MAX 128

/* getdents64(2): one record. */
struct dirent_record {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* Its types (readdir(3)): a file system may know none of them. */
enum { TYPE_UNKNOWN = 0, TYPE_FOLDER = 4 };

struct walk {
    struct hooks_paths paths;
    struct index_walked walked;
    dev_t device;
    _Alignas(struct dirent_record) char buffer[32768]; /* of the listing that is being read */
};

/* What of a folder matters: the names of the folders in it, a NUL behind each, and what it has. */
struct listing {
    char *folders;
    size_t used;
    size_t size;
    bool dot_git;
    bool head;
    bool objects;
    bool refs;
};

static bool keep_folder(struct listing *listing, const char *name) {
    size_t length = strlen(name) + 1;
    if (listing->folders == NULL || listing->used + length > listing->size) {
        size_t size = 2 * (listing->used + length);
        char *folders = realloc(listing->folders, size);
        if (folders == NULL)
            return false;
        listing->folders = folders;
        listing->size = size;
    }
    memcpy(listing->folders + listing->used, name, length);
    listing->used += length;
    return true;
}

static bool note(struct listing *listing, const struct dirent_record *record) {
    const char *name = record->name;
    if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')))
        return true;
    if (strcmp(name, ".git") == 0) {
        listing->dot_git = true;
        return true;
    }
    listing->head = listing->head || strcmp(name, "HEAD") == 0;
    listing->objects = listing->objects || strcmp(name, "objects") == 0;
    listing->refs = listing->refs || strcmp(name, "refs") == 0;
    return (record->type != TYPE_FOLDER && record->type != TYPE_UNKNOWN) || keep_folder(listing, name);
}

/* False: no more is to be walked. */
static bool list(struct walk *walk, int folder, struct listing *listing) {
    long got;
    while ((got = syscall(SYS_getdents64, folder, walk->buffer, sizeof walk->buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct dirent_record *record = (const void *)(walk->buffer + at);
            if (++walk->walked.entries > ENTRIES_MAX || !note(listing, record))
                return false;
            at += record->size;
        }
    }
    return true;
}

static bool walk_folder(struct walk *walk, int folder, int depth);

/* Another folder, where it is one, and on the same file system. */
static bool walk_into(struct walk *walk, int folder, const char *name, int depth) {
    cleanup_fd int child = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat facts;
    if (child < 0 || fstat(child, &facts) != 0 || facts.st_dev != walk->device)
        return true;
    return walk_folder(walk, child, depth);
}

/* Of a git directory nothing but those of its submodules. */
static bool walk_modules(struct walk *walk, int folder, int depth) {
    cleanup_fd int directory = openat(folder, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return directory < 0 || walk_into(walk, directory, "modules", depth + 1);
}

static bool walk_folders(struct walk *walk, int folder, const struct listing *listing, bool bare, int depth) {
    for (size_t at = 0; at < listing->used; at += strlen(listing->folders + at) + 1) {
        const char *name = listing->folders + at;
        if (bare && (strcmp(name, "objects") == 0 || strcmp(name, "refs") == 0))
            continue;
        if (!walk_into(walk, folder, name, depth + 1))
            return false;
    }
    return true;
}

static bool walk_folder(struct walk *walk, int folder, int depth) {
    struct listing listing = {0};
    bool more = list(walk, folder, &listing);
    cleanup_free char *folders = listing.folders;
    if (listing.dot_git && hooks_paths_of_worktree(&walk->paths, folder))
        walk->walked.git_directories++;
    bool bare = listing.head && listing.objects && listing.refs;
    if (bare) {
        hooks_paths_of_directory(&walk->paths, folder);
        walk->walked.git_directories++;
    }
    if (!more || depth >= DEPTH_MAX)
        return more;
    if (listing.dot_git && !walk_modules(walk, folder, depth))
        return false;
    return walk_folders(walk, folder, &listing, bare, depth);
}

struct index_walked index_walk(struct session_index *index, int folder, const char *home) {
    struct index_walked walked = {0};
    struct walk *walk = calloc(1, sizeof *walk);
    struct stat facts;
    if (walk != NULL && fstat(folder, &facts) == 0) {
        walk->device = facts.st_dev;
        hooks_paths_begin(&walk->paths, index, home);
        walk_folder(walk, folder, 0);
        hooks_paths_end(&walk->paths);
        walked = walk->walked;
    }
    free(walk);
    return walked;
}
