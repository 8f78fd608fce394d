#include "exec/port_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

#define PORT_TABLE_MAGIC 0x31545053u /* "SPT1" */
#define PORTS 65536u
#define RUNS_MAX 1024u
#define BITS 64u

/* Everything a new file has is 0: nothing is known. Pages that nobody touched take no memory. */
struct port_table {
    uint32_t magic;
    _Atomic uint32_t flags;
    _Atomic uint64_t noted;
    _Atomic uint64_t listening[PORT_PLACES][PORTS / BITS];
    _Atomic uint64_t runs[RUNS_MAX]; /* run, and in the lower half its bwrap; 0: free */
    _Atomic uint64_t owners[PORT_TRANSPORTS][PORTS];
};

/* One word, so that no reader sees half of it. */
static uint64_t pack(uint32_t run, uint32_t pid) {
    return (uint64_t)run << 32 | pid;
}

static struct port_owner unpack(uint64_t word) {
    return (struct port_owner){.run = (uint32_t)(word >> 32), .pid = (uint32_t)word};
}

int port_table_make(void) {
    cleanup_fd int fd = memfd_create("os-sandbox-ports", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint32_t magic = PORT_TABLE_MAGIC;
    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct port_table)) != 0 ||
        pwrite(fd, &magic, sizeof magic, 0) != (ssize_t)sizeof magic ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return -1;
    return steal_fd(&fd);
}

struct port_table *port_table_map(int fd) {
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return NULL;
    if (facts.st_size != (off_t)sizeof(struct port_table)) {
        errno = EINVAL;
        return NULL;
    }
    void *memory = mmap(NULL, sizeof(struct port_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct port_table *table = memory;
    if (table->magic == PORT_TABLE_MAGIC)
        return table;
    port_table_unmap(table);
    errno = EINVAL;
    return NULL;
}

void port_table_unmap(struct port_table *table) {
    if (table != NULL)
        munmap(table, sizeof *table);
}

void port_table_note(struct port_table *table, enum port_transport transport, uint16_t port,
                     struct port_owner owner) {
    atomic_store(&table->owners[transport][port], pack(owner.run, owner.pid));
    atomic_fetch_add(&table->noted, 1);
}

struct port_owner port_table_take(struct port_table *table, enum port_transport transport, uint16_t port) {
    return unpack(atomic_exchange(&table->owners[transport][port], 0));
}

struct port_owner port_table_look(struct port_table *table, enum port_transport transport, uint16_t port) {
    return unpack(atomic_load(&table->owners[transport][port]));
}

uint64_t port_table_noted(const struct port_table *table) {
    return atomic_load(&table->noted);
}

void port_table_set_listening(struct port_table *table, enum port_place place, uint16_t port,
                              bool listening) {
    _Atomic uint64_t *word = &table->listening[place][port / BITS];
    uint64_t bit = (uint64_t)1 << port % BITS;
    if (listening)
        atomic_fetch_or(word, bit);
    else
        atomic_fetch_and(word, ~bit);
}

bool port_table_is_listening(const struct port_table *table, enum port_place place, uint16_t port) {
    return (atomic_load(&table->listening[place][port / BITS]) >> port % BITS & 1) != 0;
}

void port_table_set_flags(struct port_table *table, uint32_t flags) {
    atomic_store(&table->flags, flags);
}

uint32_t port_table_flags(const struct port_table *table) {
    return atomic_load(&table->flags);
}

void port_table_add_run(struct port_table *table, uint32_t run, pid_t bwrap) {
    for (size_t i = 0; i < RUNS_MAX; i++) {
        uint64_t free_place = 0;
        if (atomic_compare_exchange_strong(&table->runs[i], &free_place, pack(run, (uint32_t)bwrap)))
            return;
    }
}

void port_table_remove_run(struct port_table *table, uint32_t run, pid_t bwrap) {
    for (size_t i = 0; i < RUNS_MAX; i++) {
        uint64_t entry = pack(run, (uint32_t)bwrap);
        if (atomic_compare_exchange_strong(&table->runs[i], &entry, 0))
            return;
    }
}

uint32_t port_table_run_of(const struct port_table *table, pid_t bwrap) {
    for (size_t i = 0; i < RUNS_MAX; i++) {
        struct port_owner entry = unpack(atomic_load(&table->runs[i]));
        if (entry.run != 0 && entry.pid == (uint32_t)bwrap)
            return entry.run;
    }
    return 0;
}
