#include "network/asked_names.h"

/* FNV-1a of 64 bits, begun at a number; never 0. */
static uint64_t hash(uint32_t begin, const char *text) {
    uint64_t value = 14695981039346656037u ^ begin;
    for (const char *c = text; *c != '\0'; c++)
        value = (value ^ (uint8_t)*c) * 1099511628211u;
    return value == 0 ? 1 : value;
}

bool asked_names_count(struct asked_names *names, uint32_t run, const char *shown, const char *asked,
                       uint16_t type, uint64_t now_ms) {
    uint64_t shown_hash = hash(run, shown);
    uint64_t asked_hash = hash(type, asked);
    for (unsigned i = 0; i < ASKED_NAMES_MAX; i++) {
        struct asked_name *name = &names->names[i];
        if (name->shown != shown_hash)
            continue;
        bool same_look_up = now_ms - name->time_ms < ASKED_NAMES_MS && name->asked != asked_hash;
        if (!same_look_up) {
            name->asked = asked_hash;
            name->time_ms = now_ms;
        }
        return !same_look_up;
    }
    names->names[names->next] =
        (struct asked_name){.shown = shown_hash, .asked = asked_hash, .time_ms = now_ms};
    names->next = (names->next + 1) % ASKED_NAMES_MAX;
    return true;
}
