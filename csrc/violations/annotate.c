#include "violations/annotate.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "violations/escape.h"

#define EOL "\n"

/* What was written to the stream, which is closed; NULL where it did not fit into memory. */
static char *take_text(FILE *stream, char **text) {
    int failed = ferror(stream);
    if (fclose(stream) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

static void put_target(FILE *out, const struct violation *violation) {
    const char *host = violation->host;
    if (violation->path != NULL) {
        fputc(' ', out);
        escape_text(out, violation->path);
    }
    if (host == NULL)
        return;
    bool is_v6 = strchr(host, ':') != NULL;
    fputs(is_v6 ? " [" : " ", out);
    escape_text(out, host);
    fputs(is_v6 ? "]" : "", out);
    if (violation->port != 0)
        fprintf(out, ":%u", (unsigned)violation->port);
}

char *violation_line(const struct violation *violation) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fprintf(out, "deny %s", violation->operation);
    put_target(out, violation);
    if (violation->why != NULL) {
        fputs(" (", out);
        escape_text(out, violation->why);
        fputc(')', out);
    }
    return take_text(out, &text);
}

char *violations_block(const struct block_line *lines, size_t count, uint64_t more) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fputs("<" BLOCK_TAG ">" EOL, out);
    for (size_t i = 0; i < count; i++) {
        fputs(lines[i].text, out);
        if (lines[i].count > 1)
            fprintf(out, " (×%" PRIu64 ")", lines[i].count);
        fputs(EOL, out);
    }
    if (more > 0)
        fprintf(out, "(%" PRIu64 " more)" EOL, more);
    fputs("</" BLOCK_TAG ">", out);
    return take_text(out, &text);
}
