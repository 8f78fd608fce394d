/* The host's resolv.conf and hosts files, read on the thread pool, never on the loop. */
#ifndef OS_SANDBOX_NETWORK_HOST_FILES_H
#define OS_SANDBOX_NETWORK_HOST_FILES_H

#include <stdbool.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/strvec.h"
#include "policy/resolver_files.h"

/* More of a file is not read. */
#define HOST_FILE_MAX ((size_t)4 << 20)
/* What was read is that old at least before it is looked at again. */
#define HOST_FILES_FRESH_MS 1000u

struct host_file {
    char *text; /* NULL: there is none */
    size_t size;
    struct timespec changed;
    bool read_anew; /* by the last look */
};

/* All-zero but for what host_files_refresh sets: nothing was read. */
struct host_files {
    struct resolver_file resolver;
    struct host_file hosts;
    uint64_t looked_ms;

    uv_work_t work;
    bool working;
    struct host_file new_hosts; /* of the thread that reads */
    struct host_file new_resolver;
    void (*done)(void *data);
    void *data;
};

/* Reads what has changed, unless it is being read; done is called later, on the loop. False: nothing is to be
 * done, done is not called. The request holds the loop. */
bool host_files_refresh(struct host_files *files, uv_loop_t *loop, void (*done)(void *data), void *data);

/* Reads them at once, for who is on a thread of the pool already; *files is all-zero. */
void host_files_read(struct host_files *files);

/* The names that the hosts file gives to an address, as it was when it was last read. 0, or -1: no memory. */
int host_files_names(const struct host_files *files, const uint8_t address[IP_ADDRESS_BYTES],
                     struct strvec *out);

/* Not while it is being read. */
void host_files_clear(struct host_files *files);

#endif
