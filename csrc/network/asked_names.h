/*
 * Which questions for a refused name are one and the same look-up: a resolver asks for A and AAAA and HTTPS,
 * and again below each search domain. Only one of them counts. Pure.
 */
#ifndef OS_SANDBOX_NETWORK_ASKED_NAMES_H
#define OS_SANDBOX_NETWORK_ASKED_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* The questions of one look-up come within this time. */
#define ASKED_NAMES_MS 5000u
#define ASKED_NAMES_MAX 64u

/* All-zero: nothing was asked. */
struct asked_names {
    struct asked_name {
        uint64_t shown; /* hash of run and the name that is shown; 0: empty */
        uint64_t asked; /* hash of the question that counted: its name and type */
        uint64_t time_ms;
    } names[ASKED_NAMES_MAX];
    unsigned next;
};

/*
 * A run asked for a name with that type; shown is the name without a search domain. True where it counts: the
 * first of its look-up, and that one again.
 */
bool asked_names_count(struct asked_names *names, uint32_t run, const char *shown, const char *asked,
                       uint16_t type, uint64_t now_ms);

#endif
