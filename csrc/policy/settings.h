/* A settings file's text: our options as JSON, or what people have for sandbox-runtime. Pure: touches no
 * file. */
#ifndef OS_SANDBOX_POLICY_SETTINGS_H
#define OS_SANDBOX_POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strvec.h"
#include "policy/text_place.h"

struct settings {
    char *document;         /* for options_parse, which accepts it */
    struct strvec warnings; /* "LINE:COLUMN: key: …", for keys that have no effect */
};

/*
 * Reads one file, a byte order mark before it or not. asks: a person may be asked about connections. On
 * success *out owns what settings_clear releases. On failure -1 with nothing to release: an ERROR_OPTIONS
 * whose text is
 * "<path>: expected …" and *at where it stands, or an ERROR_MEMORY.
 */
int settings_parse(const char *text, size_t size, bool asks, struct settings *out, struct text_position *at,
                   struct error *err);

void settings_clear(struct settings *settings);

/* The tables of known keys as JSON, for whoever describes settings files (caller frees; NULL: no memory). */
char *settings_table_json(void);

#endif
