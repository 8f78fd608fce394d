#include "network/deadlines.h"

#define NS_PER_MS 1000000u

uint64_t deadlines_now(void) {
    return uv_hrtime() / NS_PER_MS;
}

static void on_timer(uv_timer_t *timer);

static void arm(struct deadlines *deadlines) {
    if (link_is_empty(&deadlines->waiting) || uv_is_closing((uv_handle_t *)&deadlines->timer))
        return;
    uint64_t now = deadlines_now();
    uint64_t due = LINK_OWNER(deadlines->waiting.next, struct deadline, link)->due_ms;
    /* The loop's own time may be old: fired too early, it is armed again. */
    uv_timer_start(&deadlines->timer, on_timer, due > now ? due - now : 1, 0);
}

static void on_timer(uv_timer_t *timer) {
    struct deadlines *deadlines = timer->data;
    uint64_t now = deadlines_now();
    while (!link_is_empty(&deadlines->waiting)) {
        struct deadline *first = LINK_OWNER(deadlines->waiting.next, struct deadline, link);
        if (first->due_ms > now)
            break;
        link_remove(&first->link);
        deadlines->expired(deadlines->data, first);
    }
    arm(deadlines);
}

int deadlines_init(struct deadlines *deadlines, uv_loop_t *loop, uint64_t duration_ms,
                   void (*expired)(void *data, struct deadline *deadline), void *data) {
    int failed = uv_timer_init(loop, &deadlines->timer);
    if (failed != 0)
        return failed;
    uv_unref((uv_handle_t *)&deadlines->timer);
    deadlines->timer.data = deadlines;
    link_head(&deadlines->waiting);
    deadlines->duration_ms = duration_ms;
    deadlines->expired = expired;
    deadlines->data = data;
    return 0;
}

void deadlines_add(struct deadlines *deadlines, struct deadline *deadline) {
    link_remove(&deadline->link);
    deadline->due_ms = deadlines_now() + deadlines->duration_ms;
    link_add(&deadlines->waiting, &deadline->link);
    if (!uv_is_active((uv_handle_t *)&deadlines->timer))
        arm(deadlines);
}

void deadlines_remove(struct deadline *deadline) {
    link_remove(&deadline->link);
}

void deadlines_close(struct deadlines *deadlines, uv_close_cb closed) {
    while (link_take(&deadlines->waiting) != NULL)
        ;
    uv_close((uv_handle_t *)&deadlines->timer, closed);
}
