#include "violations/violation.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION_MAX 63
/* A byte that is not UTF-8 takes four. */
#define PATH_TEXT_MAX ((size_t)4 * PATH_MAX)
#define HOST_MAX 255
#define WHY_MAX 1023
#define PROCESS_MAX 255
/* The largest that a JS number holds exactly. */
#define NUMBER_MAX ((json_int_t)1 << 53)

static bool is_short(const char *text, size_t most) {
    return text == NULL || strlen(text) <= most;
}

static bool is_operation(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
    return length > 0 && length <= OPERATION_MAX && text[length] == '\0';
}

static int read_violation(json_t *line, struct violation *out) {
    json_int_t id;
    json_int_t port = 0;
    json_int_t pid;
    json_int_t time;
    const char *type;
    if (json_unpack_ex(line, NULL, JSON_STRICT, "{s:s,s:I,s:s,s?s,s?s,s?I,s?s,s:I,s:s,s:I}", "type", &type,
                       "id", &id, "operation", &out->operation, "path", &out->path, "host", &out->host,
                       "port", &port, "why", &out->why, "pid", &pid, "process", &out->process, "time",
                       &time) != 0)
        return -1;
    if (id < 0 || id >= VIOLATION_IDS || port < 0 || port > UINT16_MAX || (port != 0 && out->host == NULL) ||
        pid < 0 || pid > INT32_MAX || time < 0 || time > NUMBER_MAX || !is_operation(out->operation) ||
        !is_short(out->path, PATH_TEXT_MAX) || !is_short(out->host, HOST_MAX) ||
        !is_short(out->why, WHY_MAX) || !is_short(out->process, PROCESS_MAX))
        return -1;
    out->id = (uint32_t)id;
    out->port = (uint16_t)port;
    out->pid = (int32_t)pid;
    out->time_ms = time;
    return 0;
}

static int read_counts(json_t *line, struct violation_event *out) {
    json_t *counts;
    const char *type;
    if (json_unpack_ex(line, NULL, JSON_STRICT, "{s:s,s:o}", "type", &type, "counts", &counts) != 0 ||
        !json_is_array(counts))
        return -1;
    out->counts = calloc(json_array_size(counts) + 1, sizeof *out->counts);
    if (out->counts == NULL)
        return -1;
    for (size_t i = 0; i < json_array_size(counts); i++) {
        json_int_t id;
        json_int_t count;
        if (json_unpack_ex(json_array_get(counts, i), NULL, JSON_STRICT, "[I,I]", &id, &count) != 0 ||
            id < 0 || id >= VIOLATION_IDS || count < 1 || count > NUMBER_MAX)
            return -1;
        out->counts[out->count_count++] =
            (struct violation_count){.id = (uint32_t)id, .count = (uint64_t)count};
    }
    return 0;
}

static int read_dropped(json_t *line, uint64_t *out) {
    json_int_t count;
    const char *type;
    if (json_unpack_ex(line, NULL, JSON_STRICT, "{s:s,s:I}", "type", &type, "count", &count) != 0 ||
        count < 0 || count > NUMBER_MAX)
        return -1;
    *out = (uint64_t)count;
    return 0;
}

int violation_parse(const char *line, size_t size, struct violation_event *out) {
    *out = (struct violation_event){0};
    out->line = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(out->line, "type"));
    if (type == NULL)
        return -1;
    if (strcmp(type, "violation") == 0) {
        out->kind = VIOLATION_FIRST;
        return read_violation(out->line, &out->violation);
    }
    if (strcmp(type, "counts") == 0) {
        out->kind = VIOLATION_COUNTS;
        return read_counts(out->line, out);
    }
    if (strcmp(type, "dropped") == 0) {
        out->kind = VIOLATION_DROPPED;
        return read_dropped(out->line, &out->dropped);
    }
    return -1;
}

void violation_event_clear(struct violation_event *event) {
    json_decref(event->line);
    free(event->counts);
    *event = (struct violation_event){0};
}
