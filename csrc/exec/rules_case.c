/* File systems that compare names without case, as a whole or by folder. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "exec/rules_internal.h"
#include "policy/name_fold.h"
#include "policy/protected_names.h"

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* statfs(2); linux/magic.h; fs/ of the kernel */
static const uint32_t folding_types[] = {
    0x4d44,     /* vfat, msdos */
    0x2011bab0, /* exfat */
    0x5346544e, /* ntfs */
    0x7366746e, /* ntfs3 */
    0xff534d42, /* cifs */
    0xfe534d42, /* smb2 */
    0x517b,     /* smbfs */
    0x482b,     /* hfs+ */
    0x4244,     /* hfs */
};

static bool is_folding_type(int folder) {
    struct statfs volume;
    if (fstatfs(folder, &volume) != 0)
        return true;
    for (size_t i = 0; i < sizeof folding_types / sizeof folding_types[0]; i++)
        if ((uint32_t)volume.f_type == folding_types[i])
            return true;
    return false;
}

/* Of a folder that may not be read: whether it finds an entry by its folded name as well. What is not there
 * cannot be told, and counts as found. */
static bool finds_folded(int folder, const char *name, const char *folded) {
    struct stat facts;
    struct stat found;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    return fstatat(folder, folded, &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_ino == facts.st_ino &&
           found.st_dev == facts.st_dev;
}

/* chattr(1), attribute F. */
static bool has_folding_flag(int folder, const char *name, const char *folded) {
    unsigned flags[2] = {0, 0}; /* the kernel writes an int, FUSE file systems a long */
    cleanup_fd int readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (readable < 0)
        return finds_folded(folder, name, folded);
    return ioctl(readable, FS_IOC_GETFLAGS, flags) == 0 && (flags[0] & FS_CASEFOLD_FL) != 0;
}

/* Whether the folder's own name finds it in the other case as well: volumes that come from another system. */
static bool is_found_in_other_case(const struct rules *rules, int folder, const char *path, size_t length) {
    char name[NAME_MAX + 1];
    struct stat facts;
    struct stat others;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (start == 0 || length - start >= sizeof name || fstat(folder, &facts) != 0)
        return false;
    memcpy(name, path + start, length - start);
    name[length - start] = '\0';
    char *letter = name;
    while (*letter != '\0' && !isalpha((unsigned char)*letter))
        letter++;
    if (*letter == '\0')
        return false;
    *letter ^= 'a' ^ 'A';
    cleanup_fd int above = rules_open(rules, path, start - 1);
    return above >= 0 && fstatat(above, name, &others, AT_SYMLINK_NOFOLLOW) == 0 &&
           others.st_dev == facts.st_dev && others.st_ino == facts.st_ino;
}

/* length: of the folder's own path; one component of that many bytes stands behind it. */
static bool folds(const struct rules *rules, int folder, const char *path, size_t length, size_t name_length,
                  const char *folded) {
    char name[PATH_MAX];
    if (folder < 0 || name_length >= sizeof name)
        return true;
    memcpy(name, path + length + 1, name_length);
    name[name_length] = '\0';
    return is_folding_type(folder) || has_folding_flag(folder, name, folded) ||
           is_found_in_other_case(rules, folder, path, length);
}

/* The name of which the component is the short form, where it is one that matters. */
static const char *long_form(int folder, const char *name) {
    static const char *const others[] = {".git", "config.worktree", "commondir"};
    static const size_t other_count = sizeof others / sizeof others[0];
    struct stat facts;
    struct stat found;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return NULL;
    for (size_t i = 0; i < other_count + protected_name_count; i++) {
        const char *wanted = i < other_count ? others[i] : protected_names[i - other_count].path;
        const char *slash = strchr(wanted, '/');
        if (slash != NULL && (fstatat(folder, wanted, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
                              found.st_ino != facts.st_ino || found.st_dev != facts.st_dev))
            wanted = slash + 1;
        if (fstatat(folder, wanted, &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_ino == facts.st_ino &&
            found.st_dev == facts.st_dev)
            return wanted;
    }
    return NULL;
}

/* The component, as it is, or as its folder takes it. False: it does not fit. */
static bool put_component(const struct rules *rules, const char *path, size_t start, size_t length,
                          char *into, size_t size, size_t *at) {
    char name[PATH_MAX];
    bool is_short = name_is_short_form(path + start, length);
    size_t folded = name_fold(path + start, length, name, sizeof name);
    bool differs = folded != length || memcmp(name, path + start, length) != 0;
    const char *text = path + start;
    if (differs || is_short) {
        cleanup_fd int folder = rules_open(rules, path, start - 1);
        if (folds(rules, folder, path, start - 1, length, name)) {
            const char *wanted = is_short && folder >= 0 ? long_form(folder, name) : NULL;
            text = wanted != NULL ? wanted : name;
            length = strlen(text);
        }
    }
    if (*at + length + 2 > size)
        return false;
    into[(*at)++] = '/';
    memcpy(into + *at, text, length);
    *at += length;
    into[*at] = '\0';
    return true;
}

bool rules_fold(const struct rules *rules, const char *path, char *into, size_t size) {
    size_t at = 0;
    for (size_t start = 1; path[start] != '\0';) {
        size_t length = strcspn(path + start, "/");
        if (!put_component(rules, path, start, length, into, size, &at))
            return false;
        start += length;
        start += path[start] == '/';
    }
    return at > 0 && strcmp(path, into) != 0;
}
