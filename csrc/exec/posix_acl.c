#include "exec/posix_acl.h"

#include <string.h>

/* Little-endian, as both processors are that there is a filter for (seccomp_filter.h). */
struct entry {
    uint16_t tag;
    uint16_t permissions;
    uint32_t id;
};

#define HEADER_SIZE sizeof(uint32_t)
enum { TAG_USER = 0x02, TAG_GROUP = 0x08 };

bool posix_acl_is_of(const void *value, size_t size, uint32_t uid, uint32_t gid) {
    const unsigned char *bytes = value;
    struct entry entry;
    for (size_t at = HEADER_SIZE; at <= size && size - at >= sizeof entry; at += sizeof entry) {
        memcpy(&entry, bytes + at, sizeof entry);
        if ((entry.tag == TAG_USER && entry.id != uid) || (entry.tag == TAG_GROUP && entry.id != gid))
            return false;
    }
    return true;
}
