#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/git_check.h"
#include "exec/git_check_file.h"

/* More is not read: sizes and times have to do. */
#define CONTENT_MAX 65536

#define SEED 0xcbf29ce484222325u

/* FNV-1a, of 64 bits. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number) {
    return mix(hash, &number, sizeof(number));
}

static uint64_t mix_status(uint64_t hash, int directory, const char *name) {
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return mix_number(hash, (uint64_t)errno);
    hash = mix_number(hash, status.st_dev);
    hash = mix_number(hash, status.st_ino);
    hash = mix_number(hash, status.st_mode);
    hash = mix_number(hash, status.st_nlink);
    hash = mix_number(hash, (uint64_t)status.st_size);
    hash = mix_number(hash, (uint64_t)status.st_ctim.tv_sec);
    return mix_number(hash, (uint64_t)status.st_ctim.tv_nsec);
}

/* Times do not tell of a write within the same tick, or by a mapping. */
static uint64_t mix_content(uint64_t hash, int directory, const char *name) {
    char bytes[4096];
    struct stat status;
    cleanup_fd int file = check_open_file(directory, name, &status);
    if (file < 0)
        return mix_number(hash, (uint64_t)errno);
    size_t whole = 0;
    for (ssize_t got; whole < CONTENT_MAX && (got = read(file, bytes, sizeof(bytes))) > 0;
         whole += (size_t)got)
        hash = mix(hash, bytes, (size_t)got);
    return mix_number(hash, whole);
}

/* In whatever order they come. */
static uint64_t mix_names(uint64_t hash, int directory, const char *name) {
    int folder = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return mix_number(hash, (uint64_t)errno);
    DIR *list = fdopendir(folder);
    if (list == NULL) {
        close(folder);
        return hash;
    }
    uint64_t sum = 0;
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
        sum += mix(SEED, entry->d_name, strlen(entry->d_name));
    closedir(list);
    return mix_number(hash, sum);
}

uint64_t git_check_stamp(int directory) {
    static const char *const files[] = {"config", "config.worktree", "commondir"};
    static const char *const folders[] = {"hooks", "modules", "worktrees"};
    struct stat status;
    uint64_t hash = mix_number(SEED, git_check_is_taken(directory));
    if (fstat(directory, &status) == 0)
        hash = mix_number(mix_number(hash, status.st_dev), status.st_ino);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        hash = mix_content(mix_status(hash, directory, files[i]), directory, files[i]);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        hash = mix_names(mix_status(hash, directory, folders[i]), directory, folders[i]);
    return hash == 0 ? 1 : hash;
}
