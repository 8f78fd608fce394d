/* One line of JSON, written into a buffer that is there already. */
#ifndef OS_SANDBOX_EXEC_JSON_LINE_H
#define OS_SANDBOX_EXEC_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What does not fit sets full, and the line is worth nothing then. */
struct json_line {
    char *at;
    char *end;
    bool full;
};

/* JSON as it stands. */
void json_put(struct json_line *line, const char *json);

void json_put_number(struct json_line *line, uint64_t number);

/* A string between quotes, control characters as \u00XX, bytes that are not UTF-8 as \\xHH. */
void json_put_string(struct json_line *line, const char *text);

/* The longest that json_put_string makes of so many bytes. */
#define JSON_STRING_MAX(bytes) (2 + 6 * (bytes))

#endif
