#include "exec/git_check_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"

int check_open_file(int folder, const char *name, struct stat *status) {
    cleanup_fd int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, status) != 0)
        return -1;
    if (!S_ISREG(status->st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return steal_fd(&file);
}

char *check_read_file(int file, size_t limit, size_t *length) {
    struct stat status;
    if (fstat(file, &status) != 0)
        return NULL;
    /* One byte more shows that there is more. */
    size_t room =
        status.st_size < 0 || (uint64_t)status.st_size > limit ? limit + 1 : (size_t)status.st_size + 1;
    cleanup_free char *bytes = malloc(room + 1);
    if (bytes == NULL)
        return NULL;
    *length = 0;
    for (ssize_t got; *length < room; *length += (size_t)got) {
        got = read(file, bytes + *length, room - *length);
        if (got < 0)
            return NULL;
        if (got == 0)
            break;
    }
    if (*length == room) {
        errno = EFBIG;
        return NULL;
    }
    bytes[*length] = '\0';
    char *taken = bytes;
    bytes = NULL;
    return taken;
}

static int write_whole(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written <= 0)
            return written < 0 ? errno : EIO;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

unsigned long long check_random(void) {
    unsigned long long number = 0;
    /* Where the kernel has none, the names are known, and may be taken. */
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
        return 0;
    return number;
}

int check_replace_file(int folder, const char *name, const struct stat *old, const char *bytes,
                       size_t length) {
    char beside[64];
    snprintf(beside, sizeof(beside), "%s.%016llx" CHECK_NEW, name, check_random());
    cleanup_fd int file = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int error = write_whole(file, bytes, length);
    const struct timespec times[] = {old->st_atim, old->st_mtim};
    if (error == 0 && (fchmod(file, old->st_mode & 0777) != 0 || futimens(file, times) != 0))
        error = errno;
    if (error == 0 && renameat(folder, beside, folder, name) != 0)
        error = errno;
    /* Somebody may have put another file in its place. */
    struct stat written, found;
    if (error == 0 &&
        (fstat(file, &written) != 0 || fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
         written.st_dev != found.st_dev || written.st_ino != found.st_ino))
        error = EBUSY;
    if (error != 0)
        unlinkat(folder, beside, 0);
    return error;
}
