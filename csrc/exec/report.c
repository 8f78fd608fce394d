#include "exec/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/json_line.h"
#include "exec/target.h"

/* Refusals that are told apart. */
#define DISTINCT_MAX ((size_t)8192)
#define SLOTS (2 * DISTINCT_MAX)
/* Bytes of lines that wait for the reader. */
#define QUEUE_MAX ((size_t)512 << 10)
/* The longest "[8191,18446744073709551615]," of a line that counts. */
#define COUNT_MAX ((size_t)29)
/* The reader takes no line that is longer than 64 KiB. */
#define COUNTS_PER_LINE 1024
/* What is in a violation's line beside the texts: fewer bytes than this. */
#define FRAME_MAX ((size_t)256)

struct seen {
    uint64_t hash;
    uint64_t count;
    bool lost; /* there is no line of it: its repetitions are dropped ones, too */
};

struct report {
    pthread_mutex_t lock;
    pthread_cond_t written; /* no line is being written */
    const struct payload *payload;
    int events;
    int wake;
    bool closed; /* no lines any more: the reader is gone, or the last ones are there */
    uint64_t key;
    uint64_t dropped;
    size_t writers; /* of lines whose refusals are counted already, perhaps by others, who were answered */
    struct seen seen[DISTINCT_MAX]; /* a refusal's index is its id */
    size_t seen_count;
    uint16_t slots[SLOTS]; /* by hash, the next ones where taken: 1 + index in seen; 0: free */
    /* Lines that are not written yet: from start to end. Twice the room, so that they are seldom moved. */
    char queue[2 * QUEUE_MAX];
    size_t start;
    size_t end;
};

_Static_assert(DISTINCT_MAX *COUNT_MAX + (DISTINCT_MAX / COUNTS_PER_LINE + 2) * FRAME_MAX < QUEUE_MAX,
               "the last lines have room behind a full queue");

/*
 * A polynomial in a secret key, modulo 2^61 - 1: whoever does not know the key finds two texts of n bytes
 * that collide with a chance of n in 2^61, so that no refusal can be made to hide another.
 */
#define HASH_PRIME ((1ull << 61) - 1)
/* As many bytes as are a number below that. */
#define HASH_STEP ((size_t)7)

struct report *report_new(int events, const struct payload *payload) {
    struct report *report = calloc(1, sizeof *report);
    if (report == NULL)
        return NULL;
    report->payload = payload;
    report->events = events;
    report->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (report->wake >= 0 && getrandom(&report->key, sizeof report->key, 0) == sizeof report->key &&
        pthread_mutex_init(&report->lock, NULL) == 0 && pthread_cond_init(&report->written, NULL) == 0) {
        report->key = report->key % (HASH_PRIME - 2) + 2;
        return report;
    }
    close_fd(&report->wake);
    free(report);
    return NULL;
}

int report_wake_fd(const struct report *report) {
    return report->wake;
}

static uint64_t hash_number(uint64_t hash, uint64_t key, uint64_t number) {
    unsigned __int128 product = (unsigned __int128)hash * key + number + 1;
    uint64_t sum = (uint64_t)(product & HASH_PRIME) + (uint64_t)(product >> 61);
    return sum >= HASH_PRIME ? sum - HASH_PRIME : sum;
}

/* With its length before it, so that no two rows of texts are the same row of numbers. */
static uint64_t hash_text(uint64_t hash, uint64_t key, const char *text) {
    if (text == NULL)
        return hash_number(hash, key, 0);
    size_t left = strlen(text);
    hash = hash_number(hash, key, left + 1);
    for (; left >= HASH_STEP; text += HASH_STEP, left -= HASH_STEP) {
        uint64_t number = 0;
        memcpy(&number, text, HASH_STEP);
        hash = hash_number(hash, key, number);
    }
    uint64_t rest = 0;
    memcpy(&rest, text, left);
    return hash_number(hash, key, rest);
}

static uint64_t hash_denial(uint64_t key, const struct denial *denial) {
    uint64_t hash = hash_text(1, key, denial->operation);
    hash = hash_text(hash, key, denial->path);
    hash = hash_text(hash, key, denial->host);
    return hash_number(hash, key, denial->port);
}

static size_t length_of(const char *text) {
    return text == NULL ? 0 : strlen(text);
}

static size_t text_length(const struct denial *denial) {
    return strlen(denial->operation) + length_of(denial->path) + length_of(denial->host) +
           length_of(denial->why);
}

/* Counts the refusal. What it is seen as where it is a new one, which is to be written; else NULL. */
static struct seen *count_denial(struct report *report, uint64_t hash, const struct denial *denial) {
    size_t slot = hash % SLOTS;
    for (; report->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        struct seen *seen = &report->seen[report->slots[slot] - 1];
        if (seen->hash != hash)
            continue;
        if (seen->lost)
            report->dropped++;
        else
            seen->count++;
        return NULL;
    }
    /* With room for it before its process is looked up: a flood that nobody reads must cost little. */
    if (report->seen_count == DISTINCT_MAX ||
        report->end - report->start + text_length(denial) + FRAME_MAX > QUEUE_MAX) {
        report->dropped++;
        return NULL;
    }
    struct seen *seen = &report->seen[report->seen_count++];
    *seen = (struct seen){.hash = hash, .count = 1};
    report->slots[slot] = (uint16_t)report->seen_count;
    return seen;
}

/* The reason of the longest path that holds this one. */
static const char *reason_of(const struct payload *payload, const char *path) {
    const char *why = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < payload->reason_count; i++) {
        const struct payload_reason *reason = &payload->reasons[i];
        size_t length = strlen(reason->path);
        if (length > longest && path_is_within(path, reason->path)) {
            longest = length;
            why = reason->why;
        }
    }
    return why;
}

static const char *why_of(const struct payload *payload, const struct denial *denial) {
    const char *why = denial->why;
    if (why == NULL && denial->path != NULL)
        why = reason_of(payload, denial->path);
    bool makes_or_changes = strncmp(denial->operation, "file-write-", strlen("file-write-")) == 0 ||
                            strcmp(denial->operation, "network-bind") == 0;
    if (why == NULL && denial->path != NULL && makes_or_changes)
        why = "outside the write roots";
    return why;
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void put_text(struct json_line *line, const char *key, const char *text) {
    if (text == NULL)
        return;
    json_put(line, key);
    json_put_string(line, text);
}

static void put_number(struct json_line *line, const char *key, uint64_t number) {
    json_put(line, key);
    json_put_number(line, number);
}

/* Makes room behind the lines for so many bytes. */
static void make_room(struct report *report, size_t size) {
    if (report->end + size <= sizeof report->queue)
        return;
    report->end -= report->start;
    memmove(report->queue, report->queue + report->start, report->end);
    report->start = 0;
}

static struct json_line begin_line(struct report *report, size_t most) {
    char *at = report->queue + report->end;
    return (struct json_line){.at = at, .end = at + most};
}

static bool end_line(struct report *report, struct json_line *line) {
    json_put(line, "\n");
    if (!line->full)
        report->end = (size_t)(line->at - report->queue);
    return !line->full;
}

static bool write_violation(struct report *report, size_t id, const struct denial *denial, pid_t process,
                            const char *name) {
    const char *why = why_of(report->payload, denial);
    size_t most = JSON_STRING_MAX(text_length(denial) + length_of(why) + strlen(name)) + FRAME_MAX;
    size_t room = QUEUE_MAX - (report->end - report->start);
    most = most < room ? most : room;
    make_room(report, most);
    struct json_line line = begin_line(report, most);
    json_put(&line, "{\"type\":\"violation\"");
    put_number(&line, ",\"id\":", id);
    put_text(&line, ",\"operation\":", denial->operation);
    put_text(&line, ",\"path\":", denial->path);
    put_text(&line, ",\"host\":", denial->host);
    if (denial->host != NULL && denial->port != 0)
        put_number(&line, ",\"port\":", denial->port);
    put_text(&line, ",\"why\":", why);
    put_number(&line, ",\"pid\":", (uint64_t)process);
    put_text(&line, ",\"process\":", name);
    put_number(&line, ",\"time\":", now_ms());
    json_put(&line, "}");
    return end_line(report, &line);
}

/* As far as the pipe takes it. */
static void write_queue(struct report *report) {
    while (report->start < report->end) {
        ssize_t written = write(report->events, report->queue + report->start, report->end - report->start);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0) {
            report->closed = true;
            break;
        }
        report->start += (size_t)written;
    }
    report->start = report->end = 0;
}

static void queue_violation(struct report *report, struct seen *seen, const struct denial *denial,
                            pid_t process, const char *name) {
    bool was_empty = report->start == report->end;
    if (report->closed)
        return;
    if (!write_violation(report, (size_t)(seen - report->seen), denial, process, name)) {
        seen->lost = true;
        report->dropped += seen->count;
        return;
    }
    /* Where something was queued already somebody waits for room in the pipe. */
    if (!was_empty)
        return;
    write_queue(report);
    if (report->start < report->end)
        eventfd_write(report->wake, 1);
}

void report_denial(struct report *report, const struct call *call, const struct denial *denial) {
    if ((report->payload->supervision & SUPERVISE_QUIETLY) != 0)
        return;
    uint64_t hash = hash_denial(report->key, denial);
    pthread_mutex_lock(&report->lock);
    struct seen *seen = count_denial(report, hash, denial);
    report->writers += seen != NULL;
    pthread_mutex_unlock(&report->lock);
    if (seen == NULL)
        return;
    struct target_ids ids;
    char name[64];
    if (target_ids(call, &ids) != 0)
        ids.process = call->thread;
    target_name(call, name, sizeof name);
    pthread_mutex_lock(&report->lock);
    queue_violation(report, seen, denial, ids.process, name);
    report->writers--;
    pthread_cond_signal(&report->written);
    pthread_mutex_unlock(&report->lock);
}

void report_limit(struct report *report, const struct call *call, enum cost_limit limit, const char *path) {
    char why[COST_REASON_SIZE];
    const struct cost_limits *limits = &report->payload->cost;
    if (limits->most[limit] == 0)
        return;
    const struct denial denial = {
        .operation = cost_limit_operation(limit), .path = path, .why = cost_limit_reason(limits, limit, why)};
    report_denial(report, call, &denial);
}

void report_found(struct report *report, const char *path, const char *operation, const char *why) {
    struct denial denial = {.operation = operation, .path = path, .why = why};
    if ((report->payload->supervision & SUPERVISE_QUIETLY) != 0)
        return;
    uint64_t hash = hash_denial(report->key, &denial);
    pthread_mutex_lock(&report->lock);
    struct seen *seen = count_denial(report, hash, &denial);
    if (seen != NULL)
        queue_violation(report, seen, &denial, getpid(), "os-sandbox");
    pthread_mutex_unlock(&report->lock);
}

bool report_flush(struct report *report) {
    eventfd_t cleared;
    pthread_mutex_lock(&report->lock);
    eventfd_read(report->wake, &cleared);
    write_queue(report);
    bool more = report->start < report->end;
    pthread_mutex_unlock(&report->lock);
    return more;
}

/* From *next on, as many as go into one line. */
static void put_counts(struct report *report, size_t *next) {
    struct json_line line = begin_line(report, COUNTS_PER_LINE * COUNT_MAX + FRAME_MAX);
    size_t put = 0;
    json_put(&line, "{\"type\":\"counts\",\"counts\":[");
    for (; *next < report->seen_count && put < COUNTS_PER_LINE; ++*next) {
        const struct seen *seen = &report->seen[*next];
        if (seen->lost || seen->count < 2)
            continue;
        put_number(&line, put++ == 0 ? "[" : ",[", *next);
        put_number(&line, ",", seen->count);
        json_put(&line, "]");
    }
    json_put(&line, "]}");
    if (put > 0)
        end_line(report, &line);
}

static void put_dropped(struct report *report) {
    struct json_line line = begin_line(report, FRAME_MAX);
    put_number(&line, "{\"type\":\"dropped\",\"count\":", report->dropped);
    json_put(&line, "}");
    end_line(report, &line);
}

void report_finish(struct report *report) {
    pthread_mutex_lock(&report->lock);
    while (report->writers > 0)
        pthread_cond_wait(&report->written, &report->lock);
    if (!report->closed) {
        make_room(report, QUEUE_MAX);
        for (size_t next = 0; next < report->seen_count;)
            put_counts(report, &next);
        if (report->dropped > 0)
            put_dropped(report);
    }
    report->closed = true;
    pthread_mutex_unlock(&report->lock);
}

void report_free(struct report *report) {
    close_fd(&report->wake);
    pthread_cond_destroy(&report->written);
    pthread_mutex_destroy(&report->lock);
    free(report);
}
