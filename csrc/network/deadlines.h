/* Many things that all wait equally long: one timer over a list, oldest first. It does not hold the loop. */
#ifndef OS_SANDBOX_NETWORK_DEADLINES_H
#define OS_SANDBOX_NETWORK_DEADLINES_H

#include <stdint.h>
#include <uv.h>

#include "network/list.h"

/* Part of what waits. All-zero: it does not. */
struct deadline {
    struct link link;
    uint64_t due_ms;
};

struct deadlines {
    uv_timer_t timer;
    struct link waiting;
    uint64_t duration_ms;
    void (*expired)(void *data, struct deadline *deadline); /* it waits no more when this is called */
    void *data;
};

/* A clock that does not stand still while the loop is busy; milliseconds. */
uint64_t deadlines_now(void);

/* 0, or a negative errno of libuv. */
int deadlines_init(struct deadlines *deadlines, uv_loop_t *loop, uint64_t duration_ms,
                   void (*expired)(void *data, struct deadline *deadline), void *data);

/* From now on; also for one that waits already. */
void deadlines_add(struct deadlines *deadlines, struct deadline *deadline);
void deadlines_remove(struct deadline *deadline);

/* Nothing expires any more. The timer's data is the deadlines. */
void deadlines_close(struct deadlines *deadlines, uv_close_cb closed);

#endif
