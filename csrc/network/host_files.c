#include "network/host_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "network/deadlines.h"

#define HOSTS_PATH "/etc/hosts"
#define RESOLVER_PATH "/etc/resolv.conf"

static void clear_file(struct host_file *file) {
    free(file->text);
    *file = (struct host_file){0};
}

/* The text of a regular file, at most HOST_FILE_MAX of it. */
static void read_file(int fd, size_t wanted, struct host_file *file) {
    size_t room = wanted < HOST_FILE_MAX ? wanted + 1 : HOST_FILE_MAX;
    file->text = malloc(room);
    while (file->text != NULL && file->size < room) {
        ssize_t got = read(fd, file->text + file->size, room - file->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        file->size += (size_t)got;
    }
}

/* changed comes in as that of the last look. */
static void look_at_file(const char *path, struct host_file *file) {
    struct stat stat;
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        file->read_anew = file->changed.tv_sec != 0;
        file->changed = (struct timespec){0};
        return;
    }
    if (stat.st_mtim.tv_sec == file->changed.tv_sec && stat.st_mtim.tv_nsec == file->changed.tv_nsec)
        return;
    file->changed = stat.st_mtim;
    file->read_anew = true;
    read_file(fd, (size_t)stat.st_size, file);
}

/* On a thread of the pool. */
static void look(uv_work_t *work) {
    struct host_files *files = work->data;
    look_at_file(HOSTS_PATH, &files->new_hosts);
    /* Lists of names to be blocked are long, and each connection would read through them. */
    files->new_hosts.size = hosts_file_shorten(files->new_hosts.text, files->new_hosts.size);
    look_at_file(RESOLVER_PATH, &files->new_resolver);
}

/* Where the file names no search domain, or the environment others (resolver(5)). */
static void add_search(struct strvec *search) {
    struct resolver_file other = {0};
    struct utsname host;
    cleanup_free char *text = NULL;
    const char *local = getenv("LOCALDOMAIN");
    const char *dot = uname(&host) == 0 ? strchr(host.nodename, '.') : NULL;
    if (local == NULL && search->count == 0 && dot != NULL)
        local = dot + 1;
    if (local == NULL || asprintf(&text, "search %s\n", local) < 0)
        return;
    if (resolver_file_parse(text, strlen(text), &other) == 0) {
        strvec_clear(search);
        *search = other.search;
        other.search = (struct strvec){0};
    }
    resolver_file_clear(&other);
}

static void take_resolver(struct host_files *files) {
    struct resolver_file parsed = {0};
    const struct host_file *file = &files->new_resolver;
    if (resolver_file_parse(file->text == NULL ? "" : file->text, file->size, &parsed) == 0) {
        resolver_file_clear(&files->resolver);
        files->resolver = parsed;
        add_search(&files->resolver.search);
    } else {
        resolver_file_clear(&parsed);
    }
}

static void on_looked(uv_work_t *work, int status) {
    struct host_files *files = work->data;
    files->working = false;
    files->looked_ms = deadlines_now();
    if (status == 0 && files->new_hosts.read_anew) {
        clear_file(&files->hosts);
        files->hosts = files->new_hosts;
        files->new_hosts = (struct host_file){0};
    }
    if (status == 0)
        take_resolver(files);
    clear_file(&files->new_hosts);
    clear_file(&files->new_resolver);
    files->done(files->data);
}

bool host_files_refresh(struct host_files *files, uv_loop_t *loop, void (*done)(void *data), void *data) {
    if (files->working || (files->looked_ms != 0 && deadlines_now() - files->looked_ms < HOST_FILES_FRESH_MS))
        return false;
    files->done = done;
    files->data = data;
    files->work.data = files;
    files->new_hosts.changed = files->hosts.changed;
    if (uv_queue_work(loop, &files->work, look, on_looked) != 0)
        return false;
    files->working = true;
    return true;
}

void host_files_read(struct host_files *files) {
    files->work.data = files;
    look(&files->work);
    files->hosts = files->new_hosts;
    files->new_hosts = (struct host_file){0};
    take_resolver(files);
    clear_file(&files->new_resolver);
}

int host_files_names(const struct host_files *files, const uint8_t address[IP_ADDRESS_BYTES],
                     struct strvec *out) {
    if (files->hosts.text == NULL)
        return 0;
    return hosts_file_names(files->hosts.text, files->hosts.size, address, out);
}

void host_files_clear(struct host_files *files) {
    clear_file(&files->hosts);
    resolver_file_clear(&files->resolver);
}
