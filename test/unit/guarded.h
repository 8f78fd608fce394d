/* Bytes flush against an unreadable page, so that a parser that reads behind them dies. */
#ifndef OS_SANDBOX_TEST_GUARDED_H
#define OS_SANDBOX_TEST_GUARDED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDED_MAX ((size_t)256 * 1024)

/* A copy, which is good until the next one is made. */
static inline const uint8_t *guarded(const void *bytes, size_t size) {
    static uint8_t *end;
    if (end == NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        uint8_t *start =
            mmap(NULL, GUARDED_MAX + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED || mprotect(start + GUARDED_MAX, page, PROT_NONE) != 0)
            abort();
        end = start + GUARDED_MAX;
    }
    if (size > GUARDED_MAX)
        abort();
    memcpy(end - size, bytes, size);
    return end - size;
}

#endif
