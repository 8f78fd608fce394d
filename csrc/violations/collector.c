#include "violations/collector.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "violations/benign.h"

static bool is_shown(const struct collector *collector, uint32_t id) {
    return (collector->shown[id / 8] & 1u << id % 8) != 0;
}

static void set_shown(struct collector *collector, uint32_t id) {
    collector->shown[id / 8] |= (uint8_t)(1u << id % 8);
}

/* Its line (the caller frees); or NULL: nobody is to hear of it, or there is no memory, which *dropped tells.
 */
static char *line_to_give(const struct collector *collector, const struct violation *violation,
                          bool *dropped) {
    *dropped = false;
    if (violation_is_benign(violation))
        return NULL;
    char *text = violation_line(violation);
    *dropped = text == NULL;
    if (text == NULL || !ignore_list_has(&collector->ignore, text))
        return text;
    free(text);
    return NULL;
}

/* The text is taken. */
static void give(struct collector *collector, const struct violation *violation, char *text) {
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

static void take_violation(struct collector *collector, const struct violation *violation) {
    if (is_shown(collector, violation->id)) {
        collector->dropped++;
        return;
    }
    bool dropped;
    char *text = line_to_give(collector, violation, &dropped);
    collector->dropped += dropped;
    if (text == NULL)
        return;
    set_shown(collector, violation->id);
    give(collector, violation, text);
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

static bool same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static struct note *find_note(const struct collector *collector, const struct violation *violation) {
    for (size_t i = 0; i < collector->note_count; i++) {
        struct note *note = &collector->notes[i];
        if (note->port == violation->port && same_text(note->host, violation->host) &&
            same_text(note->why, violation->why) && same_text(note->operation, violation->operation))
            return note;
    }
    return NULL;
}

static void note_clear(struct note *note) {
    free(note->operation);
    free(note->host);
    free(note->why);
    *note = (struct note){0};
}

/* A copy at the end of the notes; NULL: there is no room for one more, or no memory. */
static struct note *add_note(struct collector *collector, const struct violation *violation) {
    if (collector->notes == NULL)
        collector->notes = calloc(NOTES_MAX, sizeof *collector->notes);
    if (collector->notes == NULL || collector->note_count == NOTES_MAX)
        return NULL;
    struct note *note = &collector->notes[collector->note_count];
    *note = (struct note){.operation = strdup(violation->operation),
                          .host = violation->host == NULL ? NULL : strdup(violation->host),
                          .why = violation->why == NULL ? NULL : strdup(violation->why),
                          .port = violation->port,
                          .count = 1};
    if (note->operation == NULL || (note->host == NULL) != (violation->host == NULL) ||
        (note->why == NULL) != (violation->why == NULL)) {
        note_clear(note);
        return NULL;
    }
    collector->note_count++;
    return note;
}

static void note_again(struct collector *collector, struct note *note) {
    note->count++;
    struct violation_count count = {.id = VIOLATION_IDS + (uint32_t)(note - collector->notes),
                                    .count = note->count};
    if (note->count == 2) {
        struct violation_count *repeated =
            reallocarray(collector->repeated, collector->repeated_count + 1, sizeof *repeated);
        if (repeated == NULL) {
            note->count = 1; /* the next one tries again */
            collector->dropped++;
            return;
        }
        collector->repeated = repeated;
        note->repeated = collector->repeated_count++;
    }
    collector->repeated[note->repeated] = count;
    count_kept(collector, &count);
}

void collector_note(struct collector *collector, const struct violation *violation) {
    struct note *known = find_note(collector, violation);
    if (known != NULL) {
        note_again(collector, known);
        return;
    }
    bool dropped;
    char *text = line_to_give(collector, violation, &dropped);
    struct note *note = text == NULL ? NULL : add_note(collector, violation);
    if (note == NULL) {
        collector->dropped += dropped || text != NULL;
        free(text);
        return;
    }
    struct violation given = *violation;
    given.id = VIOLATION_IDS + (uint32_t)(note - collector->notes);
    give(collector, &given, text);
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
    for (size_t i = 0; i < collector->note_count; i++)
        note_clear(&collector->notes[i]);
    free(collector->notes);
    free(collector->repeated);
    ignore_list_clear(&collector->ignore);
    *collector = (struct collector){0};
}
