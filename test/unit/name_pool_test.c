/* Names as addresses of 198.18.0.0/15. */
#include "network/name_pool.h"
#include "tap.h"

#include <stdlib.h>

static struct name_pool *pool;

static const char *address_of(const char *name, uint64_t now) {
    static char text[4][IP_ADDRESS_TEXT];
    static unsigned turn;
    uint8_t v4[4];
    char *out = text[turn++ % 4];
    if (!name_pool_address(pool, name, now, v4))
        return NULL;
    snprintf(out, IP_ADDRESS_TEXT, "%u.%u.%u.%u", v4[0], v4[1], v4[2], v4[3]);
    return out;
}

static struct pool_name *find(const char *address) {
    uint8_t bytes[IP_ADDRESS_BYTES];
    return ip_address_parse_v4(address, strlen(address), bytes) ? name_pool_find(pool, bytes) : NULL;
}

static const char *name_at(const char *address) {
    struct pool_name *name = address == NULL ? NULL : find(address);
    return name == NULL ? NULL : pool_name_text(name);
}

static void gives_one_address_per_name(void) {
    pool = name_pool_new(NAME_POOL_MAX, 1);
    is_str(address_of("a.example.com", 0), "198.18.0.1", "the first name gets the block's first address");
    is_str(address_of("b.example.com", 0), "198.18.0.3", "the second gets another");
    is_str(address_of("a.example.com", 100000000), "198.18.0.1", "a name keeps its address");
    is_str(name_at("198.18.0.1"), "a.example.com", "an address leads to its name");
    is_str(name_at("198.18.0.2"), NULL, "one that was not given leads to none");
    is_str(name_at("198.18.0.5"), NULL, "nor does one beyond the last");
    is_str(name_at("198.18.0.0"), NULL, "nor the block's own");
    is_str(name_at("198.19.255.255"), NULL, "nor its broadcast");
    is_str(name_at("198.20.0.1"), NULL, "nor one outside of it");
    name_pool_free(pool);
}

static void knows_its_block(void) {
    static const struct {
        const char *text;
        bool covered;
    } rows[] = {{"198.17.255.255", false}, {"198.18.0.0", true},  {"198.18.0.1", true},
                {"198.19.255.255", true},  {"198.20.0.0", false}, {"127.0.0.1", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[IP_ADDRESS_BYTES];
        ip_address_parse_v4(rows[i].text, strlen(rows[i].text), bytes);
        ok(name_pool_covers(bytes) == rows[i].covered, "%s is %s the block", rows[i].text,
           rows[i].covered ? "in" : "outside of");
    }
    const uint8_t v6[IP_ADDRESS_BYTES] = {[12] = 198, 18, 0, 1};
    ok(!name_pool_covers(v6), "::198.18.0.1 is outside of the block");
}

static void recycles_the_longest_unused(void) {
    pool = name_pool_new(2, 1);
    address_of("a.example.com", 0);
    address_of("b.example.com", 1);
    is_str(address_of("c.example.com", 1000), NULL, "a full pool recycles nothing that was used just now");
    address_of("a.example.com", 70000);
    is_str(address_of("c.example.com", 70000), "198.18.0.4",
           "later the longest unused name gives way, and its successor has another address");
    is_str(name_at("198.18.0.3"), NULL, "the old address leads nowhere");
    is_str(name_at("198.18.0.4"), "c.example.com", "the new one leads to the new name");
    is_str(name_at("198.18.0.1"), "a.example.com", "what was used meanwhile stays");
    is_str(address_of("b.example.com", 140000), "198.18.0.2",
           "a recycled name comes back where there is room");
    name_pool_free(pool);
}

static void keeps_what_is_pinned(void) {
    pool = name_pool_new(1, 1);
    address_of("a.example.com", 0);
    struct pool_name *name = find("198.18.0.1");
    if (ok(name != NULL, "the name is there")) {
        name_pool_pin(pool, name);
        name_pool_pin(pool, name);
        is_str(address_of("b.example.com", 1000000), NULL, "a name with connections is not recycled");
        name_pool_unpin(pool, name, 1000000);
        is_str(address_of("b.example.com", 2000000), NULL, "nor while one of two is left");
        name_pool_unpin(pool, name, 2000000);
        is_str(address_of("b.example.com", 2000001), NULL, "nor right after the last");
        is_str(address_of("b.example.com", 2060000), "198.18.0.2", "but a minute later");
    }
    name_pool_free(pool);
}

/* As many as there can be: each has its own address, all inside the block. */
static void holds_a_full_block(void) {
    pool = name_pool_new(SIZE_MAX, 7);
    char name[32];
    const char *last = NULL;
    unsigned wrong = 0;
    for (unsigned i = 0; i < NAME_POOL_MAX; i++) {
        snprintf(name, sizeof name, "n%u.example.com", i);
        last = address_of(name, i);
        wrong += last == NULL ? 1 : 0;
    }
    is_int(wrong, 0, "65,535 names have addresses");
    is_str(last, "198.19.255.253", "the last one's is inside the block");
    for (unsigned i = 0; i < NAME_POOL_MAX; i++) {
        snprintf(name, sizeof name, "n%u.example.com", i);
        const char *found = name_at(address_of(name, NAME_POOL_MAX));
        wrong += found == NULL || strcmp(found, name) != 0 ? 1 : 0;
    }
    is_int(wrong, 0, "and each address leads back to its name");
    is_str(address_of("more.example.com", NAME_POOL_MAX), NULL, "one more has none");
    is_str(address_of("more.example.com", NAME_POOL_MAX + NAME_POOL_KEEP_MS), "198.18.0.2",
           "until the first was unused for a minute");
    name_pool_free(pool);
}

int main(void) {
    gives_one_address_per_name();
    knows_its_block();
    recycles_the_longest_unused();
    keeps_what_is_pinned();
    holds_a_full_block();
    return done_testing();
}
