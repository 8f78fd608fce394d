/* Tunnels between real TCP connections: what passes, what is held back, how they end, what they cost. */
#include "network/tunnel.h"

#include <pthread.h>

#include "looping.h"
#include "network/tunnel_internal.h"
#include "tap.h"

static struct tunnels *tunnels;

struct ended {
    bool called;
    uint64_t from_client;
    uint64_t from_upstream;
};

/* What a test has in hand: the far ends, and what is known of the tunnel. */
struct pair {
    int client;
    int upstream;
    struct tunnel *tunnel;
    struct ended ended;
    /* of the scripted looks */
    enum tunnel_next (*look)(struct pair *pair, struct tunnel_view *view);
    unsigned looks;
    size_t most_seen;
};

static void on_closed(void *data, uint64_t from_client, uint64_t from_upstream) {
    struct pair *pair = data;
    pair->ended = (struct ended){!pair->ended.called, from_client, from_upstream};
}

static enum tunnel_next look(void *data, struct tunnel_view *view) {
    struct pair *pair = data;
    pair->looks++;
    pair->most_seen = view->size > pair->most_seen ? view->size : pair->most_seen;
    return pair->look(pair, view);
}

static void open_with(struct pair *pair, struct tunnel_end client, struct tunnel_end upstream) {
    struct tunnel_end ends[TUNNEL_SIDES] = {client, upstream};
    connected_pair(&ends[TUNNEL_CLIENT].fd, &pair->client);
    connected_pair(&ends[TUNNEL_UPSTREAM].fd, &pair->upstream);
    pair->tunnel = tunnel_start(tunnels, ends, on_closed, pair);
}

static void open_plain(struct pair *pair) {
    open_with(pair, (struct tunnel_end){0}, (struct tunnel_end){0});
}

static void close_pair(struct pair *pair) {
    close(pair->client);
    close(pair->upstream);
    run_until(&pair->ended.called, 5000);
}

static void say(int fd, const char *text) {
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        perror("send");
}

/* Exactly that text arrives, and no end. */
static void hears(int fd, const char *text, const char *name) {
    char got[256] = {0};
    int end;
    size_t size = read_looping(fd, got, strlen(text), &end);
    got[size] = '\0';
    is_str(got, text, name);
}

/* 0 for an end, errno for a reset, -1 for silence; bytes before it are dropped. */
static int how_it_ends(int fd) {
    static char dropped[65536];
    int end = -1;
    while (read_looping(fd, dropped, sizeof dropped, &end) == sizeof dropped)
        ;
    return end;
}

static void both_ways(void) {
    struct pair pair = {0};
    open_plain(&pair);
    say(pair.client, "question");
    hears(pair.upstream, "question", "what the client sends arrives upstream");
    say(pair.upstream, "the answer");
    hears(pair.client, "the answer", "what upstream sends arrives at the client");
    shutdown(pair.client, SHUT_WR);
    is_int(how_it_ends(pair.upstream), 0, "the client's end arrives upstream");
    say(pair.upstream, "late");
    hears(pair.client, "late", "and the other direction goes on");
    ok(!pair.ended.called, "a tunnel with one end is not over");
    shutdown(pair.upstream, SHUT_WR);
    is_int(how_it_ends(pair.client), 0, "upstream's end arrives at the client");
    ok(run_until(&pair.ended.called, 2000), "and then it is over");
    is_int((long long)pair.ended.from_client, 8, "the bytes of the client are counted");
    is_int((long long)pair.ended.from_upstream, 14, "and those of upstream");
    close_pair(&pair);
}

static void resets(void) {
    for (int side = 0; side < 2; side++) {
        struct pair pair = {0};
        open_plain(&pair);
        say(side == 0 ? pair.upstream : pair.client, "last words");
        run_for(20);
        reset_now(side == 0 ? pair.upstream : pair.client);
        hears(side == 0 ? pair.client : pair.upstream, "last words", "what was sent before a reset arrives");
        is_int(how_it_ends(side == 0 ? pair.client : pair.upstream), ECONNRESET,
               side == 0 ? "a reset upstream is a reset for the client"
                         : "a reset of the client is one for upstream");
        ok(run_until(&pair.ended.called, 2000), "and the tunnel is over");
        close(side == 0 ? pair.client : pair.upstream);
    }
    struct pair pair = {0};
    open_plain(&pair);
    tunnel_abort(pair.tunnel);
    ok(!pair.ended.called, "aborting does not call from inside");
    tunnel_abort(pair.tunnel);
    is_int(how_it_ends(pair.client), ECONNRESET, "aborting resets the client");
    is_int(how_it_ends(pair.upstream), ECONNRESET, "and upstream");
    ok(run_until(&pair.ended.called, 2000), "and tells that it is over");
    close_pair(&pair);
}

static void beginnings(void) {
    struct pair pair = {0};
    open_with(
        &pair, (struct tunnel_end){.first = "GET", .first_size = 3, .greeting = "200 ", .greeting_size = 4},
        (struct tunnel_end){.first = "banner", .first_size = 6, .greeting = "PRE ", .greeting_size = 4});
    say(pair.client, " /");
    hears(pair.client, "200 banner", "a side's greeting comes before what the other sent first");
    hears(pair.upstream, "PRE GET /", "in both directions");
    close_pair(&pair);
    is_int((long long)pair.ended.from_client, 5, "a greeting is not counted as upstream's or the client's");
    is_int((long long)pair.ended.from_upstream, 6, "in neither direction");
}

/* One letter at a time: upper case is doubled, "." ends the looking, "!" stops, "x" closes, "a" aborts, "?"
 * wants more. */
static enum tunnel_next letters(struct pair *pair, struct tunnel_view *view) {
    if (view->size == 0)
        return TUNNEL_MORE;
    char letter = (char)view->bytes[0];
    view->taken = 1;
    switch (letter) {
    case '.':
        return TUNNEL_PASS;
    case '!':
        return TUNNEL_STOP;
    case 'x':
        return TUNNEL_CLOSE;
    case 'a':
        tunnel_abort(pair->tunnel);
        return TUNNEL_AGAIN;
    case '?':
        view->taken = 0;
        return TUNNEL_MORE;
    default:
        break;
    }
    if (letter >= 'A' && letter <= 'Z') {
        view->replacement = malloc(2);
        view->replacement_size = 2;
        memset(view->replacement, letter, 2);
    }
    return TUNNEL_AGAIN;
}

static void looks(void) {
    struct pair pair = {.look = letters};
    struct tunnel_end looked = {.look = look, .hold = 16};
    open_with(&pair, (struct tunnel_end){.look = look, .hold = 16, .first = "aB" + 1, .first_size = 1},
              looked);
    is_int(pair.looks, 0, "nothing is looked at from inside the start");
    hears(pair.upstream, "BB", "what the client had sent first is looked at");
    say(pair.client, "cD");
    hears(pair.upstream, "cDD", "bytes go as they are, or are replaced");
    say(pair.upstream, "eF");
    hears(pair.client, "eFF", "from upstream as well");
    say(pair.client, "g.H?x!");
    hears(pair.upstream, "g.H?x!", "after passing nothing is looked at");
    say(pair.client, "Ia");
    hears(pair.upstream, "Ia", "also of what comes later");
    close_pair(&pair);
    is_int((long long)pair.ended.from_client, 13, "what was sent on is counted, with what was replaced");
}

static void ends_by_look(void) {
    static const struct {
        const char *sends;
        size_t more; /* bytes behind them */
        bool ends;
        const char *name;
    } cases[] = {
        {"x", 0, false, "a look can close"},
        {"a", 0, false, "a look can abort its tunnel"},
        {"?", 40, false, "more than what may be held closes"},
        {"?234567", 8 + 1, false, "so does exactly what may be held"},
        {"?", 0, true, "an end closes where bytes are still held back"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pair pair = {.look = letters};
        char more[64];
        memset(more, 'q', sizeof more);
        more[cases[i].more] = '\0';
        open_with(&pair, (struct tunnel_end){.look = look, .hold = 16}, (struct tunnel_end){0});
        say(pair.client, cases[i].sends);
        say(pair.client, more);
        if (cases[i].ends)
            shutdown(pair.client, SHUT_WR);
        int client = how_it_ends(pair.client);
        char got;
        int end;
        size_t passed = read_looping(pair.upstream, &got, 1, &end);
        ok(client == ECONNRESET && end == ECONNRESET && passed == 0 && pair.most_seen <= 16,
           "%s, with nothing passed on", cases[i].name);
        close_pair(&pair);
    }
    struct pair pair = {.look = letters};
    open_with(&pair, (struct tunnel_end){.look = look, .hold = 16}, (struct tunnel_end){0});
    say(pair.client, "?234567812345");
    run_for(30);
    say(pair.upstream, "on");
    hears(pair.client, "on", "while bytes are held back the other direction goes on");
    close_pair(&pair);
}

static void *send_much(void *data) {
    const int *fd = data;
    static const char block[65536];
    for (unsigned i = 0; i < 16 * 16; i++)
        if (send(*fd, block, sizeof block, MSG_NOSIGNAL) < 0)
            return NULL;
    return data;
}

static void stops(void) {
    struct pair pair = {.look = letters};
    open_with(&pair, (struct tunnel_end){.look = look, .hold = 16}, (struct tunnel_end){0});
    say(pair.client, "b!");
    hears(pair.upstream, "b!", "what is taken with a stop goes on");
    pthread_t thread;
    pthread_create(&thread, NULL, send_much, &pair.client);
    run_for(100);
    say(pair.upstream, "answer");
    hears(pair.client, "answer",
          "the other direction goes on while the client sends 16 MiB that nobody wants");
    char byte;
    int end;
    pair.ended.called = false;
    ok(recv(pair.upstream, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "of which nothing is passed on");
    void *all = NULL;
    while (pthread_tryjoin_np(thread, &all) != 0)
        run_for(10);
    ok(all != NULL, "and the client gets rid of it");
    shutdown(pair.client, SHUT_WR);
    is_int((long long)read_looping(pair.upstream, &byte, 1, &end) * 10 + end, 0,
           "a stopped side's end goes on");
    close(pair.upstream);
    is_int(how_it_ends(pair.client), 0, "and upstream's arrives");
    ok(run_until(&pair.ended.called, 1000), "then it is over");
    close(pair.client);

    struct pair both = {.look = letters};
    open_with(&both, (struct tunnel_end){.look = look, .hold = 16},
              (struct tunnel_end){.look = look, .hold = 16});
    say(both.client, "r!s");
    hears(both.upstream, "r!", "a request that ends with a stop arrives");
    say(both.upstream, "t!");
    hears(both.client, "t!", "and so does an answer");
    is_int(how_it_ends(both.client), 0, "when both are stopped the client hears an end");
    is_int(how_it_ends(both.upstream), 0, "and upstream");
    ok(!both.ended.called, "which their own ends are waited for");
    uint64_t began = now_ms();
    ok(run_until(&both.ended.called, 2 * TUNNEL_LINGER_MS), "but not for ever");
    ok(now_ms() - began > TUNNEL_LINGER_MS / 2, "a while, though");
    close(both.client);
    close(both.upstream);
}

#define MUCH ((size_t)24 << 20)

static uint8_t pattern(size_t at) {
    return (uint8_t)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

static void *write_pattern(void *data) {
    const int *fd = data;
    uint8_t block[10007];
    for (size_t at = 0; at < MUCH;) {
        size_t size = MUCH - at < sizeof block ? MUCH - at : sizeof block;
        for (size_t i = 0; i < size; i++)
            block[i] = pattern(at + i);
        ssize_t sent = send(*fd, block, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return NULL;
        at += (size_t)sent;
    }
    shutdown(*fd, SHUT_WR);
    return data;
}

struct reading {
    int fd;
    size_t wrong;
    size_t size;
};

static void *read_pattern(void *data) {
    struct reading *reading = data;
    static _Thread_local uint8_t block[99991];
    ssize_t got;
    for (unsigned reads = 0; (got = recv(reading->fd, block, sizeof block, 0)) > 0; reads++) {
        for (ssize_t i = 0; i < got; i++)
            reading->wrong += block[i] == pattern(reading->size + (size_t)i) ? 0 : 1;
        reading->size += (size_t)got;
        if (reads % 40 == 0)
            usleep(3000); /* a slow reader: the tunnel has to wait for it */
    }
    return NULL;
}

static void much(void) {
    struct pair pair = {0};
    open_plain(&pair);
    pthread_t threads[4];
    struct reading readings[2] = {{.fd = pair.client}, {.fd = pair.upstream}};
    pthread_create(&threads[0], NULL, write_pattern, &pair.client);
    pthread_create(&threads[1], NULL, write_pattern, &pair.upstream);
    pthread_create(&threads[2], NULL, read_pattern, &readings[0]);
    pthread_create(&threads[3], NULL, read_pattern, &readings[1]);
    ok(run_until(&pair.ended.called, 30000), "24 MiB each way at once, with slow readers, end");
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ok(readings[0].size == MUCH && readings[1].size == MUCH && readings[0].wrong + readings[1].wrong == 0,
       "and all of it arrives as it was sent");
    ok(pair.ended.from_client == MUCH && pair.ended.from_upstream == MUCH, "and is counted");
    close(pair.client);
    close(pair.upstream);
}

/* Sends as long as anything is taken. */
static size_t fill(int fd) {
    static const char block[65536];
    size_t sent = 0;
    for (unsigned quiet = 0; quiet < 5;) {
        ssize_t size = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size > 0) {
            sent += (size_t)size;
            quiet = 0;
        } else {
            run_for(10);
            quiet++;
        }
    }
    return sent;
}

#define MANY 100

/* Idle ones of every kind at once: open, half closed each way, stuck each way. */
static void costs(void) {
    static struct pair pairs[MANY];
    struct pair stuck = {0};
    struct pair stuck_back = {0};
    for (unsigned i = 0; i < MANY; i++) {
        pairs[i] = (struct pair){0};
        open_plain(&pairs[i]);
        say(pairs[i].client, "a");
        if (i % 3 == 1)
            shutdown(pairs[i].client, SHUT_WR);
        if (i % 3 == 2)
            shutdown(pairs[i].upstream, SHUT_WR);
    }
    open_plain(&stuck);
    open_plain(&stuck_back);
    size_t filled = fill(stuck.client);
    fill(stuck_back.upstream);
    run_for(50);
    uint64_t before = cpu_ms();
    run_for(500);
    uint64_t cost = cpu_ms() - before;
    ok(cost < 50, "102 tunnels without traffic take no processor time (%llu ms of 500)",
       (unsigned long long)cost);
    ok(sizeof(struct tunnel) <= 1024, "one takes at most a KiB (%zu)", sizeof(struct tunnel));
    bool holds_nothing = true;
    for (unsigned i = 0; i < MANY; i++)
        for (unsigned side = 0; side < 2; side++)
            holds_nothing = holds_nothing && pairs[i].tunnel->from[side].kept.buffer == NULL &&
                            pairs[i].tunnel->from[side].out.buffer == NULL;
    ok(holds_nothing, "and holds no buffer");
    ok(stuck.tunnel->from[TUNNEL_CLIENT].out.capacity <= TUNNEL_HELD_MAX,
       "one whose reader does not read holds at most 32 KiB");
    size_t size = 0;
    char *all = malloc(filled);
    int end;
    size = read_looping(stuck.upstream, all, filled, &end);
    free(all);
    ok(size == filled && stuck.tunnel->from[TUNNEL_CLIENT].out.buffer == NULL,
       "when it reads everything arrives, and nothing is held any more");
    reset_now(stuck_back.client);
    ok(run_until(&stuck_back.ended.called, 2000), "a reader that never read and goes away ends its tunnel");
    close(stuck_back.upstream);
    close_pair(&stuck);
    for (unsigned i = 0; i < MANY; i++)
        close_pair(&pairs[i]);
}

static void times(void) {
    struct pair quiet = {0};
    struct pair busy = {0};
    tunnels->patience[TUNNEL_MOVING] = 300;
    open_plain(&quiet);
    open_plain(&busy);
    uint64_t began = now_ms();
    for (unsigned i = 0; i < 10; i++) {
        say(i % 2 == 0 ? busy.client : busy.upstream, ".");
        run_for(60);
    }
    ok(quiet.ended.called && !busy.ended.called,
       "a tunnel in which nothing moves is closed, one that is used is not");
    is_int(how_it_ends(quiet.client), ECONNRESET, "its client is reset");
    ok(run_until(&busy.ended.called, 2000) && now_ms() - began >= 800,
       "the other follows when it is not used any more");
    tunnels->patience[TUNNEL_MOVING] = TUNNEL_IDLE_MS;
    close_pair(&quiet);
    close_pair(&busy);
}

static void on_all_closed(void *data) {
    *(bool *)data = true;
}

static void all_at_once(void) {
    struct pair pairs[3] = {{0}, {0}, {0}};
    struct tunnel_end ends[TUNNEL_SIDES] = {{0}, {0}};
    bool closed = false;
    for (unsigned i = 0; i < 2; i++)
        open_plain(&pairs[i]);
    run_for(20);
    open_plain(&pairs[2]); /* not begun yet */
    tunnel_abort(pairs[1].tunnel);
    tunnels_close(tunnels, on_all_closed, &closed);
    ok(pairs[0].ended.called && pairs[1].ended.called && pairs[2].ended.called,
       "closing tells of every tunnel from inside");
    ok(!closed, "and is done later");
    int far[2];
    connected_pair(&ends[0].fd, &far[0]);
    connected_pair(&ends[1].fd, &far[1]);
    ok(tunnel_start(tunnels, ends, on_closed, NULL) == NULL && how_it_ends(far[0]) == 0 &&
           how_it_ends(far[1]) == 0,
       "no tunnel begins any more, and what it would have carried is closed");
    ok(run_until(&closed, 2000), "it is done when no handle is left");
    for (unsigned i = 0; i < 3; i++) {
        is_int(how_it_ends(pairs[i].client), ECONNRESET, "a client is reset");
        ok(pairs[i].ended.called, "and was told of once");
        close(pairs[i].client);
        close(pairs[i].upstream);
    }
    close(far[0]);
    close(far[1]);
}

int main(void) {
    loop_begin();
    tunnels = tunnels_new(&loop);
    both_ways();
    resets();
    beginnings();
    looks();
    ends_by_look();
    stops();
    much();
    costs();
    times();
    all_at_once();
    ok(loop_end(), "nothing is left on the loop");
    return done_testing();
}
