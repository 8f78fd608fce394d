/* stat and its kind for release builds: glibc before 2.33 has them in an archive alone, and the cross
 * compiler's has an errno of its own in it. The kernel's structure is glibc's on the 64-bit targets. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
    return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

int fstat(int fd, struct stat *status) {
    return (int)syscall(SYS_fstat, fd, status);
}

int stat(const char *restrict path, struct stat *restrict status) {
    return fstatat(AT_FDCWD, path, status, 0);
}

int lstat(const char *restrict path, struct stat *restrict status) {
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
