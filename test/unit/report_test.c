#include "exec/report.h"
#include "exec/target.h"
#include "tap.h"
#include "violations/tail.h"
#include "violations/violation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* The process behind every call here. */
int target_ids(const struct call *call, struct target_ids *out) {
    *out = (struct target_ids){.process = call->thread - 1};
    return call->thread == 13 ? ESRCH : 0;
}

void target_name(const struct call *call, char *into, size_t size) {
    (void)call;
    snprintf(into, size, "na\"me");
}

static struct payload_reason reasons[] = {
    {"/w", "denied by denyWrite"}, {"/w/a", "credentials, denied by default"}, {"/w/a/b/c", "deeper"}};
static const struct payload policy = {.reasons = reasons, .reason_count = 3};
static const struct call call = {.thread = 8};

/* What came out of a report's pipe. */
struct outcome {
    struct tail tail;
    int fd;
    char last[4096];
    size_t lines;
    size_t refused;
    uint64_t counts[VIOLATION_IDS];
    uint64_t dropped;
    size_t bytes;
};

static void take_line(void *data, const char *line, size_t size) {
    struct outcome *outcome = data;
    struct violation_event event;
    outcome->bytes += size + 1;
    if (violation_parse(line, size, &event) != 0)
        outcome->refused++;
    else if (event.kind == VIOLATION_FIRST && outcome->counts[event.violation.id] != 0)
        outcome->refused++;
    else if (event.kind == VIOLATION_FIRST)
        outcome->counts[event.violation.id] = 1;
    for (size_t i = 0; i < event.count_count; i++)
        outcome->counts[event.counts[i].id] = event.counts[i].count;
    outcome->dropped += event.dropped;
    outcome->lines++;
    snprintf(outcome->last, sizeof outcome->last, "%.*s", (int)size, line);
    violation_event_clear(&event);
}

static struct outcome *outcome_new(int fd) {
    struct outcome *outcome = calloc(1, sizeof *outcome);
    if (outcome == NULL)
        abort();
    outcome->fd = fd;
    outcome->tail = (struct tail){.on_line = take_line, .data = outcome};
    return outcome;
}

static uint64_t total(const struct outcome *outcome) {
    uint64_t sum = outcome->dropped;
    for (size_t i = 0; i < VIOLATION_IDS; i++)
        sum += outcome->counts[i];
    return sum;
}

static void outcome_free(struct outcome *outcome) {
    tail_clear(&outcome->tail);
    close(outcome->fd);
    free(outcome);
}

/* A report whose pipe takes so many bytes. */
static struct report *report_on_pipe(int *read_end, int *write_end, int pipe_size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(ends[1], F_SETPIPE_SZ, pipe_size) < 0)
        abort();
    *read_end = ends[0];
    *write_end = ends[1];
    struct report *report = report_new(ends[1], &policy);
    if (report == NULL)
        abort();
    return report;
}

/* As the supervisor ends: everything is written, the reader reads all of it. */
static void finish(struct report *report, struct outcome *outcome, int write_end) {
    report_finish(report);
    while (report_flush(report))
        tail_read(&outcome->tail, outcome->fd, 4096);
    close(write_end);
    while (tail_read(&outcome->tail, outcome->fd, 65536))
        ;
    tail_end(&outcome->tail);
    report_free(report);
}

/* The line of one refusal, up to its time. */
static void line_is(const struct denial *denial, const char *wanted, const char *name) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 65536);
    struct outcome *outcome = outcome_new(ends[0]);
    report_denial(report, &call, denial);
    tail_read(&outcome->tail, ends[0], 65536);
    char *time = strstr(outcome->last, ",\"time\":");
    ok(outcome->refused == 0 && outcome->lines == 1 && time != NULL && strspn(time + 8, "0123456789") == 13,
       "%s: one line, that is understood", name);
    if (time != NULL)
        *time = '\0';
    is_str(outcome->last, wanted, name);
    finish(report, outcome, ends[1]);
    is_int(outcome->lines, 1, "nothing more is said at the end of one that happened once");
    outcome_free(outcome);
}

#define HEAD "{\"type\":\"violation\",\"id\":0,\"operation\":"
#define TAIL ",\"pid\":7,\"process\":\"na\\\"me\""

/* What the supervisor took out has its own pid, and can be had quietly. */
static void found(uint32_t supervision) {
    int ends[2];
    struct payload own = {.supervision = supervision};
    struct outcome *outcome;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        abort();
    struct report *report = report_new(ends[1], &own);
    outcome = outcome_new(ends[0]);
    report_found(report, "/w/x.git/config", "file-write-data", "taken out");
    report_found(report, "/w/x.git/config", "file-write-data", "taken out");
    tail_read(&outcome->tail, ends[0], 65536);
    char wanted[256];
    snprintf(wanted, sizeof wanted,
             "{\"type\":\"violation\",\"id\":0,\"operation\":\"file-write-data\","
             "\"path\":\"/w/x.git/config\",\"why\":\"taken out\",\"pid\":%d,\"process\":\"os-sandbox\"",
             (int)getpid());
    if (supervision == SUPERVISE_QUIETLY)
        is_int((long long)outcome->lines, 0, "where nothing is reported what was taken out is not, either");
    else
        ok(strncmp(outcome->last, wanted, strlen(wanted)) == 0 && outcome->refused == 0,
           "what was taken out is a line of the supervisor's own");
    finish(report, outcome, ends[1]);
    is_int((long long)total(outcome), supervision == SUPERVISE_QUIETLY ? 0 : 2, "counted as others are");
    outcome_free(outcome);
}

static void lines(void) {
    line_is(&(struct denial){.operation = "file-write-create", .path = "/etc/x"},
            HEAD "\"file-write-create\",\"path\":\"/etc/x\",\"why\":\"outside the write roots\"" TAIL,
            "a write outside of all roots");
    line_is(&(struct denial){.operation = "file-write-data", .path = "/w/a/b"},
            HEAD "\"file-write-data\",\"path\":\"/w/a/b\",\"why\":\"credentials, denied by default\"" TAIL,
            "the longest path gives the reason");
    line_is(&(struct denial){.operation = "file-write-data", .path = "/w/ab"},
            HEAD "\"file-write-data\",\"path\":\"/w/ab\",\"why\":\"denied by denyWrite\"" TAIL,
            "a path that only begins alike gives none");
    line_is(&(struct denial){.operation = "file-read-data", .path = "/etc/shadow"},
            HEAD "\"file-read-data\",\"path\":\"/etc/shadow\"" TAIL, "a read that no rule explains");
    line_is(
        &(struct denial){
            .operation = "network-outbound", .host = "2001:db8::1", .port = 443, .why = "no rule"},
        HEAD "\"network-outbound\",\"host\":\"2001:db8::1\",\"port\":443,\"why\":\"no rule\"" TAIL,
        "a connection");
    line_is(&(struct denial){.operation = "network-outbound", .path = "/w/a/s", .why = "not allowed"},
            HEAD "\"network-outbound\",\"path\":\"/w/a/s\",\"why\":\"not allowed\"" TAIL,
            "a reason that is given counts");
    line_is(&(struct denial){.operation = "system-socket", .why = "family 40"},
            HEAD "\"system-socket\",\"why\":\"family 40\"" TAIL, "one without a place");
}

static void escapes(void) {
    static const struct {
        const char *path, *json, *what;
    } rows[] = {
        {"/a b'ä€𝄞", "/a b'ä€𝄞", "plain text and UTF-8 of every length"},
        {"/\"\\", "/\\\"\\\\", "quotes and backslashes"},
        {"/\n\x1b\x7f\t", "/\\u000a\\u001b\\u007f\\u0009", "control characters"},
        {"/\xff\xc3(", "/\\\\xff\\\\xc3(", "bytes that are not UTF-8"},
        {"/\xc0\xaf\xe0\x80\xaf", "/\\\\xc0\\\\xaf\\\\xe0\\\\x80\\\\xaf", "overlong forms"},
        {"/\xed\xa0\x80\xf4\x90\x80\x80", "/\\\\xed\\\\xa0\\\\x80\\\\xf4\\\\x90\\\\x80\\\\x80",
         "surrogates, and beyond the end"},
        {"/\xe2\x82", "/\\\\xe2\\\\x82", "a character that is cut"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[512];
        snprintf(wanted, sizeof wanted, HEAD "\"mach-lookup\",\"path\":\"%s\"" TAIL, rows[i].json);
        line_is(&(struct denial){.operation = "mach-lookup", .path = rows[i].path}, wanted, rows[i].what);
    }
}

static void repeats(void) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 65536);
    struct outcome *outcome = outcome_new(ends[0]);
    const struct denial kinds[] = {{.operation = "file-write-create", .path = "/a"},
                                   {.operation = "file-write-data", .path = "/a"},
                                   {.operation = "network-outbound", .host = "a"},
                                   {.operation = "network-outbound", .path = "a"},
                                   {.operation = "network-outbound", .host = "a", .port = 1}};
    for (int i = 0; i < 5; i++)
        for (int times = 0; times <= i; times++)
            report_denial(report, &call, &kinds[i]);
    finish(report, outcome, ends[1]);
    is_int(outcome->lines, 6, "operation, path, host and port tell refusals apart; one line counts them");
    bool counted = true;
    for (uint64_t i = 0; i < 5; i++)
        counted = counted && outcome->counts[i] == i + 1;
    ok(counted && outcome->dropped == 0 && outcome->refused == 0, "each is counted");
    outcome_free(outcome);
}

static void wakes(void) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 4096);
    struct outcome *outcome = outcome_new(ends[0]);
    struct pollfd wake = {.fd = report_wake_fd(report), .events = POLLIN};
    char path[64];
    report_denial(report, &call, &(struct denial){.operation = "file-write-data", .path = "/0"});
    ok(poll(&wake, 1, 0) == 0, "a line that the pipe takes wakes nobody");
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/%d", i);
        report_denial(report, &call, &(struct denial){.operation = "file-write-data", .path = path});
    }
    ok(poll(&wake, 1, 0) == 1, "one that it does not take wakes the writer");
    ok(report_flush(report) && poll(&wake, 1, 0) == 0, "who then waits for the pipe alone");
    tail_read(&outcome->tail, ends[0], 1);
    report_denial(report, &call, &(struct denial){.operation = "file-write-data", .path = "/more"});
    ok(poll(&wake, 1, 0) == 0, "and is not woken again meanwhile");
    finish(report, outcome, ends[1]);
    ok(outcome->lines == 102 && outcome->refused == 0 && total(outcome) == 102, "every line arrives whole");
    outcome_free(outcome);
}

static void foreign_process(void) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 65536);
    struct outcome *outcome = outcome_new(ends[0]);
    report_denial(report, &(struct call){.thread = 13}, &(struct denial){.operation = "a", .path = "/"});
    finish(report, outcome, ends[1]);
    ok(strstr(outcome->last, "\"pid\":13,") != NULL,
       "where the process cannot be had the thread stands for it");
    outcome_free(outcome);
}

#define FLOOD_THREADS 4
#define FLOOD_EACH 250000

struct flood {
    struct report *report;
    int thread;
    unsigned distinct;
};

static void *flood(void *data) {
    const struct flood *own = data;
    char path[64];
    for (unsigned i = 0; i < FLOOD_EACH; i++) {
        snprintf(path, sizeof path, "/flood/%d/%u", own->thread % 2, i % own->distinct);
        report_denial(own->report, &call, &(struct denial){.operation = "file-write-create", .path = path});
    }
    return NULL;
}

/* A million refusals by four threads while somebody reads a little now and then, or nothing. */
static void floods(unsigned distinct, size_t each_read, const char *name) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 65536);
    struct outcome *outcome = outcome_new(ends[0]);
    struct flood floods[FLOOD_THREADS];
    pthread_t threads[FLOOD_THREADS];
    for (int i = 0; i < FLOOD_THREADS; i++) {
        floods[i] = (struct flood){.report = report, .thread = i, .distinct = distinct};
        if (pthread_create(&threads[i], NULL, flood, &floods[i]) != 0)
            abort();
    }
    for (int turn = 0; each_read > 0 && turn < 2000; turn++) {
        tail_read(&outcome->tail, ends[0], each_read);
        report_flush(report);
        usleep(100);
    }
    for (int i = 0; i < FLOOD_THREADS; i++)
        pthread_join(threads[i], NULL);
    finish(report, outcome, ends[1]);
    ok(outcome->refused == 0 && outcome->tail.lost == 0, "%s: every line is whole", name);
    is_int((long long)total(outcome), FLOOD_THREADS * FLOOD_EACH, name);
    ok(outcome->lines <= 8192 + 9, "%s: the lines are bounded", name);
    ok(each_read > 0 || outcome->bytes < (65536 + 524288 + 300000), "%s: what waits is bounded", name);
    ok(distinct <= 1000 ? outcome->dropped == 0 : outcome->dropped > 0,
       "%s: what is dropped is what does not fit", name);
    outcome_free(outcome);
}

/* The longest path there is, of bytes that take most room, is one line that the reader takes. */
static void longest(void) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 4096);
    struct outcome *outcome = outcome_new(ends[0]);
    char path[4096];
    memset(path, '\x01', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        path[0] = (char)('0' + i);
        report_denial(report, &call, &(struct denial){.operation = "file-write-create", .path = path});
    }
    finish(report, outcome, ends[1]);
    ok(outcome->refused == 0 && outcome->tail.lost == 0 && outcome->lines > 20 && total(outcome) == 100,
       "the longest of paths are lines, or counted as dropped");
    outcome_free(outcome);
}

static void reader_gone(void) {
    int ends[2];
    struct report *report = report_on_pipe(&ends[0], &ends[1], 4096);
    close(ends[0]);
    for (int i = 0; i < 3; i++)
        report_denial(report, &call, &(struct denial){.operation = "file-write-create", .path = "/a"});
    report_finish(report);
    ok(!report_flush(report), "without a reader nothing is kept");
    close(ends[1]);
    report_free(report);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    lines();
    found(SUPERVISE_PATHS);
    found(SUPERVISE_QUIETLY);
    escapes();
    repeats();
    wakes();
    foreign_process();
    floods(1000, 4096, "few refusals, many times");
    floods(FLOOD_EACH, 4096, "half a million refusals, a slow reader");
    floods(FLOOD_EACH, 0, "half a million refusals, no reader");
    longest();
    reader_gone();
    return done_testing();
}
