/*
 * Calls that give a process more memory of its own, where that is limited (RLIMIT_DATA). The kernel refuses
 * them, but does not count what is mapped in the place of something else (MAP_FIXED), and nobody hears of it:
 * what does not fit is refused here, and told. Of two threads at once both may pass; the next one does not.
 */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/report.h"

/* What a call asks for. */
struct growth {
    uint64_t address; /* of what is there, and becomes longer or something else; 0: nothing is */
    uint64_t size;    /* 0: no memory of its own */
    bool grows;       /* it becomes longer by the size, and counts where what is there counts */
};

static uint64_t in_pages(uint64_t size) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return size > UINT64_MAX - page ? UINT64_MAX / 2 : (size + page - 1) / page * page;
}

static bool read_growth(const struct seccomp_data *data, struct growth *out) {
    const uint64_t *args = (const uint64_t *)data->args;
    bool writes = (args[2] & PROT_WRITE) != 0;
    bool is_fixed = (args[3] & MAP_FIXED) != 0;
    *out = (struct growth){0};
    switch (data->nr) {
    case __NR_mmap:
        out->size = writes && (args[3] & MAP_TYPE) == MAP_PRIVATE ? in_pages(args[1]) : 0;
        out->address = is_fixed ? args[0] : 0;
        return true;
    case __NR_mprotect:
        out->size = writes ? in_pages(args[1]) : 0;
        out->address = args[0];
        return true;
    case __NR_mremap:
        out->grows = true;
        out->size = args[2] > args[1] ? in_pages(args[2] - args[1]) : 0;
        out->address = args[0];
        return true;
    default:
        return false;
    }
}

static FILE *open_of(const struct call *call, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)call->thread, name);
    return fopen(path, "re");
}

/* Its private writable memory without stacks, as the kernel counts it (proc_pid_status(5)). What cannot be
 * read is left to the kernel. */
static uint64_t data_of(const struct call *call) {
    static const char name[] = "VmData:";
    FILE *file = open_of(call, "status");
    char line[256];
    uint64_t kilobytes = 0;
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtoull(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return kilobytes << 10;
}

/* Never less than that, with stacks, and much sooner read: the sixth number, in pages (proc_pid_statm(5)). */
static uint64_t data_at_most(const struct call *call) {
    FILE *file = open_of(call, "statm");
    char line[256] = "";
    char *at = line;
    uint64_t pages = 0;
    if (file != NULL && fgets(line, sizeof line, file) != NULL)
        for (int i = 0; i < 6; i++)
            pages = strtoull(at, &at, 10);
    if (file != NULL)
        fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t common(uint64_t start, uint64_t end, uint64_t other_start, uint64_t other_end) {
    uint64_t from = start > other_start ? start : other_start;
    uint64_t to = end < other_end ? end : other_end;
    return to > from ? to - from : 0;
}

/* How much of a range counts already: its parts in lines "START-END rw.p …" (proc_pid_maps(5)). */
static uint64_t data_in(const struct call *call, uint64_t address, uint64_t size) {
    FILE *file = open_of(call, "maps");
    cleanup_free char *line = NULL;
    size_t capacity = 0;
    uint64_t found = 0;
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        char *at;
        uint64_t from = strtoull(line, &at, 16);
        uint64_t to = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
        if (from >= end || strlen(at) < strlen(" rw.p"))
            break;
        if (at[2] == 'w' && at[4] == 'p')
            found += common(address, end, from, to);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static bool fits(const struct call *call, const struct growth *growth) {
    const uint64_t most = call->supervisor->payload->cost.most[COST_MEMORY];
    uint64_t size = growth->size;
    if (size == 0 || (size <= most && data_at_most(call) <= most - size))
        return true;
    if (growth->grows && data_in(call, growth->address, 1) == 0)
        return true;
    if (!growth->grows && growth->address != 0)
        size -= data_in(call, growth->address, size);
    return size == 0 || (size <= most && data_of(call) <= most - size);
}

bool broker_memory(struct call *call, struct answer *answer) {
    struct growth growth;
    if (!read_growth(call->data, &growth))
        return false;
    *answer = answer_continue();
    if (!fits(call, &growth)) {
        report_limit(call->supervisor->report, call, COST_MEMORY, NULL);
        *answer = answer_errno(ENOMEM);
    }
    return true;
}
