#include "violations/collector.h"

#include <stdlib.h>
#include <string.h>

#include "violations/benign.h"

static bool is_shown(const struct collector *collector, uint32_t id) {
    return (collector->shown[id / 8] & 1u << id % 8) != 0;
}

static void set_shown(struct collector *collector, uint32_t id) {
    collector->shown[id / 8] |= (uint8_t)(1u << id % 8);
}

static void take_violation(struct collector *collector, const struct violation *violation) {
    if (is_shown(collector, violation->id)) {
        collector->dropped++;
        return;
    }
    if (violation_is_benign(violation))
        return;
    char *text = violation_line(violation);
    if (text == NULL) {
        collector->dropped++;
        return;
    }
    if (ignore_list_has(&collector->ignore, text)) {
        free(text);
        return;
    }
    set_shown(collector, violation->id);
    if (collector->kept_count < BLOCK_LINES_MAX) {
        collector->kept[collector->kept_count++] =
            (struct kept_line){.id = violation->id, .text = text, .count = 1};
    } else {
        collector->unkept++;
        free(text);
    }
    if (collector->on_violation != NULL)
        collector->on_violation(collector->data, violation);
}

static void count_kept(struct collector *collector, const struct violation_count *count) {
    for (size_t i = 0; i < collector->kept_count; i++)
        if (collector->kept[i].id == count->id)
            collector->kept[i].count = count->count;
}

/* Of violations that were not given on nobody needs a count. Each is counted in one line alone. */
static void take_counts(struct collector *collector, const struct violation_event *event) {
    struct violation_count *repeated = reallocarray(
        collector->repeated, collector->repeated_count + event->count_count + 1, sizeof *repeated);
    if (repeated == NULL)
        return;
    collector->repeated = repeated;
    for (size_t i = 0; i < event->count_count && collector->repeated_count < VIOLATION_IDS; i++) {
        const struct violation_count *count = &event->counts[i];
        if (!is_shown(collector, count->id))
            continue;
        repeated[collector->repeated_count++] = *count;
        count_kept(collector, count);
    }
}

void collector_take(struct collector *collector, const char *line, size_t size) {
    struct violation_event event;
    if (violation_parse(line, size, &event) != 0)
        collector->dropped++;
    else if (event.kind == VIOLATION_FIRST)
        take_violation(collector, &event.violation);
    else if (event.kind == VIOLATION_COUNTS)
        take_counts(collector, &event);
    else
        collector->dropped += event.dropped;
    violation_event_clear(&event);
}

char *collector_block(const struct collector *collector) {
    struct block_line lines[BLOCK_LINES_MAX];
    uint64_t more = collector->unkept + collector->dropped;
    if (collector->kept_count == 0 && more == 0)
        return NULL;
    for (size_t i = 0; i < collector->kept_count; i++)
        lines[i] = (struct block_line){.text = collector->kept[i].text, .count = collector->kept[i].count};
    return violations_block(lines, collector->kept_count, more);
}

void collector_clear(struct collector *collector) {
    for (size_t i = 0; i < collector->kept_count; i++)
        free(collector->kept[i].text);
    free(collector->repeated);
    ignore_list_clear(&collector->ignore);
    *collector = (struct collector){0};
}
