/* How the attack programs report: one line for each attack, "<name>: DONE" when it worked, else the refusal.
 */
#ifndef OS_SANDBOX_TEST_ATTACK_H
#define OS_SANDBOX_TEST_ATTACK_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* result as a system call gives it: -1 and errno, or success. */
static inline void report(const char *name, long result) {
    printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "DONE");
    fflush(stdout);
}

#endif
