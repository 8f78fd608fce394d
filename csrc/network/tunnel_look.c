/* Looking at what a side sends before it goes on. */
#include <stdlib.h>

#include "network/tunnel_internal.h"

/* A look that takes nothing and wants to look again may do so a few times: each is a step of its own. */
#define STEPS_WITHOUT_BYTES 16u

/* One look; what it took goes on. */
static enum tunnel_next look_once(struct tunnel *tunnel, enum tunnel_side from, struct tunnel_view *view) {
    enum tunnel_next next = tunnel->from[from].look(tunnel->data, view);
    const uint8_t *bytes = view->bytes;
    size_t size = view->taken;
    if (view->replacement != NULL) {
        bytes = (const uint8_t *)view->replacement;
        size = view->replacement_size;
    }
    if (tunnel_is_over(tunnel) || view->taken > view->size ||
        (next != TUNNEL_CLOSE && !tunnel_send(tunnel, tunnel_other(from), bytes, size)))
        next = TUNNEL_CLOSE;
    free(view->replacement);
    return next;
}

/* Looks as long as the look wants to: what is left of the view is not taken yet. */
static enum tunnel_next look_through(struct tunnel *tunnel, enum tunnel_side from, struct tunnel_view *view) {
    unsigned idle_steps = 0;
    for (;;) {
        view->taken = 0;
        view->replacement = NULL;
        view->replacement_size = 0;
        enum tunnel_next next = look_once(tunnel, from, view);
        if (next == TUNNEL_CLOSE)
            return next;
        idle_steps = view->taken == 0 ? idle_steps + 1 : 0;
        view->bytes += view->taken;
        view->size -= view->taken;
        if (next != TUNNEL_AGAIN)
            return next;
        if (view->size == 0 && idle_steps > 0)
            return TUNNEL_MORE;
        if (idle_steps > STEPS_WITHOUT_BYTES)
            return TUNNEL_CLOSE;
    }
}

/* Keeps what is left for the next look: it lies in the kept buffer, or in the one that was read into. */
static bool keep(struct tunnel_direction *direction, const struct tunnel_view *view, bool is_kept) {
    if (is_kept)
        tunnel_bytes_drop(&direction->kept, direction->kept.size - view->size);
    else if (!tunnel_bytes_add(&direction->kept, view->bytes, view->size))
        return false;
    /* What nobody could decide on does not pass, also not at the end. */
    return view->size == 0 || (view->size < direction->hold && !view->ended);
}

void tunnel_look(struct tunnel *tunnel, enum tunnel_side from, const uint8_t *bytes, size_t size) {
    struct tunnel_direction *direction = &tunnel->from[from];
    bool is_kept = direction->kept.size > 0;
    if (is_kept && !tunnel_bytes_add(&direction->kept, bytes, size)) {
        tunnel_end(tunnel, true);
        return;
    }
    struct tunnel_view view = {.bytes = is_kept ? direction->kept.buffer + direction->kept.at : bytes,
                               .size = is_kept ? direction->kept.size : size,
                               .ended = direction->ended};
    bool goes_on = true;
    switch (look_through(tunnel, from, &view)) {
    case TUNNEL_MORE:
    case TUNNEL_AGAIN:
        goes_on = keep(direction, &view, is_kept);
        break;
    case TUNNEL_PASS:
        direction->look = NULL;
        goes_on = tunnel_send(tunnel, tunnel_other(from), view.bytes, view.size);
        tunnel_bytes_clear(&direction->kept);
        break;
    case TUNNEL_STOP:
        direction->look = NULL;
        direction->stopped = true;
        tunnel_bytes_clear(&direction->kept);
        break;
    case TUNNEL_CLOSE:
        goes_on = false;
        break;
    }
    if (!goes_on)
        tunnel_end(tunnel, true);
}
