/* The pipes between this process and a command. */
#ifndef OS_SANDBOX_COMMAND_STREAM_H
#define OS_SANDBOX_COMMAND_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "command/capture.h"

/* A stream that the command writes, as this process reads it. */
struct stream {
    uv_poll_t watch;
    int fd;
    bool watched;
    struct capture capture;
};

/* Reads what is there, at most so much. False at the end of the stream or on an error. */
bool stream_read(struct stream *stream, size_t most);

enum pipe_writer { PIPE_WE_WRITE, PIPE_THEY_WRITE };

/* Our end does not block, the command's end does: they are two open file descriptions. 0 or a negative errno.
 */
int pipe_make(enum pipe_writer writer, int *ours, int *theirs);

#endif
