/* What a run's supervisor writes into the event pipe, line by line (exec/report.h). Pure. */
#ifndef OS_SANDBOX_VIOLATIONS_VIOLATION_H
#define OS_SANDBOX_VIOLATIONS_VIOLATION_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* What a run's supervisor tells of has smaller ids than this; what the network does, greater ones. */
#define VIOLATION_IDS 65536

struct violation {
    uint32_t id;
    const char *operation; /* Seatbelt's name: file-write-create, network-outbound, … */
    const char *path;      /* or NULL; bytes that were not UTF-8 as \xHH */
    const char *host;      /* or NULL; an address without brackets */
    uint16_t port;         /* 0: none */
    const char *why;       /* or NULL */
    int32_t pid;           /* as the host sees it */
    const char *process;
    int64_t time_ms; /* since the epoch */
};

struct violation_count {
    uint32_t id;
    uint64_t count;
};

enum violation_event_kind {
    VIOLATION_FIRST,   /* violation: the first of its kind */
    VIOLATION_COUNTS,  /* counts: how often it was each of them, at the end */
    VIOLATION_DROPPED, /* dropped: refusals that are in no line, at the end */
};

struct violation_event {
    enum violation_event_kind kind;
    struct violation violation; /* its texts belong to line */
    struct violation_count *counts;
    size_t count_count;
    uint64_t dropped;
    json_t *line;
};

/*
 * Reads one line, without its end. Strict: what the helper of this build would not write is refused. 0, or
 * -1; *out is to be cleared either way.
 */
int violation_parse(const char *line, size_t size, struct violation_event *out);

void violation_event_clear(struct violation_event *event);

#endif
