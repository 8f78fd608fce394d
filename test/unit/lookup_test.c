/* Look-ups against a resolver of the test's own. */
#include "network/lookup.h"

#include <dirent.h>

#include "looping.h"
#include "small_world.h"
#include "tap.h"

static const struct world_name known[] = {
    {.name = "one.example.com", .v4 = {"192.0.2.1"}, .v6 = {"2001:db8::1"}},
    {.name = "silent.example.com", .silent = true},
};
static struct world_resolver resolver = {.names = known, .count = sizeof known / sizeof known[0]};

struct asked {
    bool answered;
    bool gone;
    int status;
    unsigned v4;
    unsigned v6;
};

static void on_answered(void *data, int status, const struct addrinfo *found) {
    struct asked *asked = data;
    asked->answered = true;
    asked->status = status;
    for (; found != NULL; found = found->ai_next) {
        asked->v4 += found->ai_family == AF_INET ? 1 : 0;
        asked->v6 += found->ai_family == AF_INET6 ? 1 : 0;
    }
}

static void on_gone(void *data) {
    struct asked *asked = data;
    asked->gone = true;
}

static struct lookup *start(struct lookups *all, const char *name, struct asked *asked) {
    const struct lookup_hooks hooks = {.answered = on_answered, .gone = on_gone, .data = asked};
    *asked = (struct asked){0};
    return lookup_start(all, &loop, name, &hooks);
}

static unsigned threads(void) {
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL)
        return 0;
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count - 2;
}

static void answers(struct lookups *all) {
    struct asked asked;
    struct lookup *lookup = start(all, "one.example.com", &asked);
    ok(lookup != NULL && !asked.answered, "a look-up begins, and tells nothing from inside");
    ok(run_until(&asked.gone, 5000) && asked.answered, "it is answered, and gone");
    ok(asked.status == 0 && asked.v4 == 1 && asked.v6 == 1, "with the addresses of both families");
    start(all, "nothing.example.com", &asked);
    run_until(&asked.gone, 5000);
    ok(asked.gone && asked.answered && asked.status == EAI_NONAME && asked.v4 == 0,
       "so is one of a name that nobody knows (%s)", gai_strerror(asked.status));
}

static void on_program_heard(uv_getaddrinfo_t *request, int status, struct addrinfo *found) {
    bool *heard = request->data;
    *heard = status == 0;
    uv_freeaddrinfo(found);
}

#define MANY (2 * LOOKUP_THREADS_MAX)

/* A thread begins, and ends, when the scheduler comes to it. */
static unsigned threads_within(unsigned wanted, unsigned tries) {
    while (threads() != wanted && tries-- > 0)
        run_for(10);
    run_for(50);
    return threads();
}

static void silence(struct lookups *all, unsigned before) {
    static struct asked silent[MANY];
    struct lookup *lookups[MANY];
    for (unsigned i = 0; i < MANY; i++)
        lookups[i] = start(all, "silent.example.com", &silent[i]);
    const unsigned most = before + LOOKUP_THREADS_MAX;
    is_int(threads_within(most, 500), most, "threads are bounded, the others wait");
    struct lookups *other = lookups_new();
    struct asked asked;
    start(other, "one.example.com", &asked);
    ok(run_until(&asked.answered, 500), "look-ups of others are answered meanwhile");
    bool heard = false;
    uv_getaddrinfo_t request = {.data = &heard};
    uv_getaddrinfo(&loop, &request, on_program_heard, "one.example.com", NULL, NULL);
    ok(run_until(&heard, 500), "and the program's own");
    lookups_release(other);
    uint64_t began = now_ms();
    for (unsigned i = 0; i < MANY; i++)
        lookup_cancel(lookups[i]);
    bool all_gone = true;
    for (unsigned i = 0; i < MANY; i++)
        all_gone = run_until(&silent[i].gone, 500) && !silent[i].answered && all_gone;
    ok(all_gone && now_ms() - began < 500, "what is cancelled is gone at once, and tells nothing");
    ok(run_until(&asked.gone, 500), "so is what was answered");
}

/* At whatever moment: queued, in the resolver, answered and not heard of. */
static void cancels(struct lookups *all) {
    for (unsigned i = 0; i < 100; i++) {
        struct asked asked;
        struct lookup *lookup = start(all, "one.example.com", &asked);
        usleep(i * 20);
        lookup_cancel(lookup);
        if (!run_until(&asked.gone, 500) || asked.answered)
            ok(false, "one that was cancelled after %u µs", i * 20);
    }
    ok(true, "look-ups were cancelled at many moments");
}

int main(void) {
    pthread_t thread;
    if (!ok(world_begin(), "there is a network of the test's own"))
        return done_testing();
    world_resolve(&resolver, &thread);
    loop_begin();
    const unsigned before = threads();
    struct lookups *all = lookups_new();
    answers(all);
    cancels(all);
    silence(all, before);
    lookups_release(all);
    ok(loop_end(), "nothing is left on the loop, though the resolver has not answered");
    world_resolve_end(&resolver, thread);
    return done_testing();
}
