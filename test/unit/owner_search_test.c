/* Whose a connection is: by the note of its supervisor, which may come after the accept, and by no other. */
#include "looping.h"
#include "network/owner_search.h"
#include "tap.h"

#define OURS 8
#define OTHERS 7
#define PORT 40000

static struct network network;
static uint32_t runs[] = {OURS, OTHERS};
static int founds;

static void on_found(struct owner_search *search) {
    (void)search;
    founds++;
}

static void note(uint32_t run) {
    port_table_note(network.ports, PORT_TCP4, PORT, (struct port_owner){.run = run, .pid = 1});
}

static void begin(struct owner_search *search, size_t live_runs) {
    struct sockaddr_storage peer = {0};
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    memcpy(&peer, &address, sizeof address);
    network.live_count = live_runs;
    founds = 0;
    owner_search_begin(search, &network, &peer, on_found);
}

static void wait_until(uint64_t ms) {
    while (founds == 0 && now_ms() < ms)
        uv_run(&loop, UV_RUN_ONCE);
}

static void of_several_runs(void) {
    struct owner_search search;
    note(OTHERS);
    begin(&search, 2);
    ok(!owner_search_need(&search), "what is there at once may be of an earlier connection");
    note(OURS);
    wait_until(now_ms() + 1000);
    is_int(founds, 1, "a moment later it is known");
    is_int(search.owner.run, OURS, "by the newest note");
    is_int(port_table_look(network.ports, PORT_TCP4, PORT).run, 0, "which is taken away");
    ok(owner_search_need(&search), "and asked for no more");

    begin(&search, 2);
    note(OURS);
    wait_until(now_ms() + 20);
    is_int(founds, 0, "who does not need it hears nothing");
    ok(owner_search_need(&search), "but it is known");
    is_int(search.owner.run, OURS, "as well");
}

static void in_a_hurry(void) {
    struct owner_search search;
    note(OURS);
    begin(&search, 2);
    owner_search_hurry(&search);
    ok(owner_search_need(&search), "at a run's end all is there at once");
    is_int(search.owner.run, OURS, "its own");
}

static void of_the_only_run(void) {
    struct owner_search search;
    note(OURS);
    begin(&search, 1);
    ok(owner_search_need(&search), "of the only run that there is nobody waits for a note");
    is_int(search.owner.run, OURS, "it can be of no other");
    note(OTHERS);
    begin(&search, 1);
    ok(!owner_search_need(&search), "one of a run that is over");
    wait_until(now_ms() + 1000);
    is_int(search.owner.run, OURS, "does not count");
    is_int(port_table_look(network.ports, PORT_TCP4, PORT).run, 0, "nor stay");
}

int main(void) {
    loop_begin();
    int fd = port_table_make();
    network = (struct network){.loop = &loop, .ports = port_table_map(fd), .live_runs = runs};
    link_head(&network.searches);
    uv_timer_init(&loop, &network.search_timer);
    network.search_timer.data = &network;
    of_several_runs();
    in_a_hurry();
    of_the_only_run();
    uv_close((uv_handle_t *)&network.search_timer, NULL);
    ok(loop_end(), "nothing is left on the loop");
    port_table_unmap(network.ports);
    close(fd);
    return done_testing();
}
