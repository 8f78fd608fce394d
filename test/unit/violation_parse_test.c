#include "tap.h"
#include "violations/violation.h"

#include <stdlib.h>

#define FULL                                                                                                 \
    "{\"type\":\"violation\",\"id\":3,\"operation\":\"file-write-create\",\"path\":\"/"                      \
    "a\\u000ab\",\"why\":\"w\","                                                                             \
    "\"pid\":7,\"process\":\"sh\",\"time\":1700000000123}"

/* A copy of exactly the line's size, so that an over-read is seen. */
static int parse(const char *line, struct violation_event *out) {
    size_t size = strlen(line);
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    memcpy(copy, line, size);
    int result = violation_parse(copy, size, out);
    free(copy);
    return result;
}

static void understands(void) {
    struct violation_event event;
    const struct violation *violation = &event.violation;
    ok(parse(FULL, &event) == 0 && event.kind == VIOLATION_FIRST, "a violation with a path");
    is_int(violation->id, 3, "its id");
    is_str(violation->operation, "file-write-create", "its operation");
    is_str(violation->path, "/a\nb", "its path, unescaped");
    is_str(violation->why, "w", "its reason");
    is_str(violation->process, "sh", "its process");
    ok(violation->host == NULL && violation->port == 0, "and no host");
    ok(violation->pid == 7 && violation->time_ms == 1700000000123, "its numbers");
    violation_event_clear(&event);

    ok(parse("{\"type\":\"violation\",\"id\":0,\"operation\":\"network-outbound\",\"host\":\"::1\",\"port\":"
             "443,"
             "\"pid\":7,\"process\":\"\",\"time\":0}",
             &event) == 0 &&
           violation->port == 443 && violation->path == NULL && violation->why == NULL,
       "a violation with a host");
    is_str(violation->host, "::1", "the host");
    violation_event_clear(&event);

    ok(parse("{\"type\":\"counts\",\"counts\":[[0,3],[65535,9007199254740992]]}", &event) == 0 &&
           event.kind == VIOLATION_COUNTS && event.count_count == 2 && event.counts[0].count == 3 &&
           event.counts[1].id == 65535 && event.counts[1].count == 1ull << 53,
       "counts");
    violation_event_clear(&event);
    ok(parse("{\"type\":\"dropped\",\"count\":5}", &event) == 0 && event.kind == VIOLATION_DROPPED &&
           event.dropped == 5,
       "drops");
    violation_event_clear(&event);
}

#define VIOLATION(members) "{\"type\":\"violation\"," members "}"
#define TIMES "\"pid\":7,\"process\":\"sh\",\"time\":1"

static void refuses(void) {
    static const struct {
        const char *line, *what;
    } rows[] = {
        {"", "an empty line"},
        {"null", "no object"},
        {"[]", "an array"},
        {"{}", "no type"},
        {"{\"type\":1}", "a type that is no string"},
        {"{\"type\":\"other\"}", "an unknown type"},
        {FULL "x", "something behind the object"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"pid\":7,\"process\":\"sh\""), "a missing member"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"more\":1," TIMES), "an unknown member"},
        {VIOLATION("\"id\":1,\"id\":1,\"operation\":\"a\"," TIMES), "a member twice"},
        {VIOLATION("\"id\":\"1\",\"operation\":\"a\"," TIMES), "an id that is no number"},
        {VIOLATION("\"id\":1.5,\"operation\":\"a\"," TIMES), "an id that is no integer"},
        {VIOLATION("\"id\":-1,\"operation\":\"a\"," TIMES), "an id below 0"},
        {VIOLATION("\"id\":65536,\"operation\":\"a\"," TIMES), "an id that is too large"},
        {VIOLATION("\"id\":99999999999999999999,\"operation\":\"a\"," TIMES), "an id beyond all integers"},
        {VIOLATION("\"id\":1,\"operation\":\"\"," TIMES), "an empty operation"},
        {VIOLATION("\"id\":1,\"operation\":\"a b\"," TIMES), "an operation with a blank"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"path\":null," TIMES), "a path that is null"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"path\":\"a\\u0000b\"," TIMES), "a NUL in a path"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"path\":\"\xff\"," TIMES), "bytes that are not UTF-8"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"port\":1," TIMES), "a port without a host"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"host\":\"h\",\"port\":65536," TIMES),
         "a port that is too large"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"pid\":-7,\"process\":\"sh\",\"time\":1"), "a pid below 0"},
        {VIOLATION("\"id\":1,\"operation\":\"a\",\"pid\":7,\"process\":\"sh\",\"time\":-1"),
         "a time below 0"},
        {"{\"type\":\"counts\"}", "no counts"},
        {"{\"type\":\"counts\",\"counts\":{}}", "counts that are no array"},
        {"{\"type\":\"counts\",\"counts\":[1]}", "a count that is no pair"},
        {"{\"type\":\"counts\",\"counts\":[[1,2,3]]}", "a pair of three"},
        {"{\"type\":\"counts\",\"counts\":[[1,0]]}", "a count of nothing"},
        {"{\"type\":\"dropped\",\"count\":-1}", "a drop below 0"},
        {"{\"type\":\"dropped\",\"count\":\"1\"}", "a drop that is no number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct violation_event event;
        ok(parse(rows[i].line, &event) != 0, "refused: %s", rows[i].what);
        violation_event_clear(&event);
    }
}

/* A violation whose member is so long. */
static int with_length(const char *member, size_t length, struct violation_event *out) {
    char *text = calloc(1, length + 1);
    char *line = NULL;
    if (text == NULL)
        abort();
    memset(text, 'a', length);
    bool is_operation = strcmp(member, "operation") == 0;
    bool is_process = strcmp(member, "process") == 0;
    if (asprintf(&line, "{\"type\":\"violation\",\"id\":1,%s\"pid\":7,%s\"time\":1,\"%s\":\"%s\"}",
                 is_operation ? "" : "\"operation\":\"a\",", is_process ? "" : "\"process\":\"sh\",", member,
                 text) < 0)
        abort();
    int result = parse(line, out);
    free(line);
    free(text);
    return result;
}

static void limits(void) {
    static const struct {
        const char *member;
        size_t most;
    } rows[] = {{"operation", 63}, {"path", 16384}, {"host", 255}, {"why", 1023}, {"process", 255}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct violation_event event;
        ok(with_length(rows[i].member, rows[i].most, &event) == 0, "%s: as long as may be", rows[i].member);
        violation_event_clear(&event);
        ok(with_length(rows[i].member, rows[i].most + 1, &event) != 0, "%s: one too long", rows[i].member);
        violation_event_clear(&event);
    }
    unsigned understood = 0;
    for (size_t size = 0; size < strlen(FULL); size++) {
        struct violation_event event;
        understood += violation_parse(FULL, size, &event) == 0;
        violation_event_clear(&event);
    }
    is_int(understood, 0, "a line that was cut anywhere is refused");
}

int main(void) {
    understands();
    refuses();
    limits();
    return done_testing();
}
