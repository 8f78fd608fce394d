#include "exec/posix_acl.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

struct list {
    uint32_t version;
    struct {
        uint16_t tag, permissions;
        uint32_t id;
    } entries[4];
};

/* In a block of exactly that size, so that a byte too far is seen. */
static bool is_of(const struct list *list, size_t size) {
    void *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    memcpy(copy, list, size);
    bool result = posix_acl_is_of(copy, size, 1000, 100);
    free(copy);
    return result;
}

int main(void) {
    struct list list = {2, {{0x01, 6, 0xffffffff}, {0x02, 6, 1000}, {0x08, 4, 100}, {0x20, 0, 0xffffffff}}};
    ok(is_of(&list, sizeof list), "one's own user and group");
    ok(is_of(&list, 4) && is_of(&list, 3) && is_of(&list, 0), "no entry, no whole header");
    list.entries[3].tag = 0x02;
    ok(!is_of(&list, sizeof list), "another user");
    ok(is_of(&list, sizeof list - 1), "a part of an entry is none");
    list.entries[3].tag = 0x08;
    ok(!is_of(&list, sizeof list), "another group");
    list.entries[3].tag = 0x10;
    ok(is_of(&list, sizeof list), "other entries have no id");
    return done_testing();
}
