#include "platform/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

bool look_at_folder(const char *path, struct strvec *names) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        close_fd(&fd);
        return false;
    }
    bool complete = true;
    const struct dirent *entry;
    errno = 0;
    while (complete && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            complete = strvec_push(names, entry->d_name) == 0;
        errno = 0;
    }
    complete = complete && errno == 0;
    closedir(folder);
    return complete;
}

char *look_at_file(const char *path, size_t max, size_t *length) {
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < 0 ||
        (size_t)facts.st_size > max)
        return NULL;
    /* It may grow meanwhile: one byte more shows that. */
    char *text = malloc(max + 2);
    size_t got = 0;
    ssize_t more = 1;
    while (text != NULL && got <= max && more > 0) {
        more = read(fd, text + got, max + 1 - got);
        if (more < 0 && errno == EINTR)
            more = 1;
        else if (more > 0)
            got += (size_t)more;
    }
    if (text == NULL || more < 0 || got > max) {
        free(text);
        return NULL;
    }
    text[got] = '\0';
    *length = got;
    return text;
}
