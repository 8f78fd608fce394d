#include "policy/address_class.h"

#include <stdbool.h>
#include <string.h>

#include "policy/address_block.h"

#define V4(a, b, c, d, bits)                                                                                 \
    { .address = {[10] = 0xff, 0xff, a, b, c, d}, .prefix = 96 + (bits) }
#define V6(bits, ...)                                                                                        \
    { .address = {__VA_ARGS__}, .prefix = (bits) }

static const char metadata[] = "a metadata service";
static const char loopback[] = "a loopback address";
static const char unspecified[] = "the unspecified address";
static const char link_local[] = "a link-local address";
static const char multicast[] = "a multicast address";

/* The first row that has an address counts. */
static const struct special {
    struct address_block block;
    const char *words;
} specials[] = {
    {V4(169, 254, 169, 254, 32), metadata}, /* AWS, Azure, Google, OpenStack, DigitalOcean, … */
    {V4(100, 100, 100, 200, 32), metadata}, /* Alibaba Cloud */
    {V4(168, 63, 129, 16, 32), metadata},   /* Azure: WireServer */
    {V4(192, 0, 0, 192, 32), metadata},     /* Oracle Cloud Classic */
    {V6(128, 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54), metadata}, /* AWS: fd00:ec2::254 */
    {V6(128, 0xfd, 0, 0x0e, 0xc2, [15] = 0x23), metadata},       /* AWS: EKS Pod Identity, fd00:ec2::23 */
    {V6(128, 0xfd, 0x20, 0, 0xce, [14] = 0x02, 0x54), metadata}, /* Google Cloud: fd20:ce::254 */
    {V4(127, 0, 0, 0, 8), loopback},                             /* RFC 1122, section 3.2.1.3 */
    {V6(128, [15] = 1), loopback},                               /* RFC 4291, section 2.5.3 */
    {V4(0, 0, 0, 0, 32), unspecified},                     /* RFC 1122; connect() takes it for loopback */
    {V4(0, 0, 0, 0, 8), "a reserved address"},             /* RFC 1122, section 3.2.1.3 */
    {V6(128, 0), unspecified},                             /* RFC 4291, section 2.5.2 */
    {V4(169, 254, 0, 0, 16), link_local},                  /* RFC 3927 */
    {V6(10, 0xfe, 0x80), link_local},                      /* RFC 4291, section 2.5.6 */
    {V6(10, 0xfe, 0xc0), "a site-local address"},          /* RFC 3879 */
    {V4(224, 0, 0, 0, 4), multicast},                      /* RFC 5771 */
    {V6(8, 0xff), multicast},                              /* RFC 4291, section 2.7 */
    {V4(255, 255, 255, 255, 32), "the broadcast address"}, /* RFC 919 */
    {V4(240, 0, 0, 0, 4), "a reserved address"},           /* RFC 1112, section 4 */
};

/* Where IPv6 addresses carry an IPv4 address. */
static const struct form {
    struct address_block block;
    uint8_t at[4]; /* its bytes */
    uint8_t mask;  /* each is xored with this */
    bool one_of;   /* one of several layouts: not this one where it reads 0.x, or bits are set behind it */
} forms[] = {
    {V6(96, 0), {12, 13, 14, 15}, 0, false},                     /* RFC 4291, section 2.5.5.1 */
    {V6(96, [8] = 0xff, 0xff), {12, 13, 14, 15}, 0, false},      /* RFC 7915 and 2765: translated */
    {V6(96, 0, 0x64, 0xff, 0x9b), {12, 13, 14, 15}, 0, false},   /* RFC 6052, section 2.1 */
    {V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), {6, 7, 9, 10}, 0, true}, /* RFC 8215 as RFC 6052 splits it */
    {V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), {7, 9, 10, 11}, 0, true},
    {V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), {9, 10, 11, 12}, 0, true},
    {V6(48, 0, 0x64, 0xff, 0x9b, 0, 1), {12, 13, 14, 15}, 0, true},
    {V6(16, 0x20, 0x02), {2, 3, 4, 5}, 0, false},        /* RFC 3056: 6to4 */
    {V6(32, 0x20, 0x01), {4, 5, 6, 7}, 0, false},        /* RFC 4380: a Teredo server */
    {V6(32, 0x20, 0x01), {12, 13, 14, 15}, 0xff, false}, /* and the client */
};

static bool nothing_behind(const uint8_t address[IP_ADDRESS_BYTES], size_t last) {
    for (size_t i = last + 1; i < IP_ADDRESS_BYTES; i++)
        if (address[i] != 0)
            return false;
    return true;
}

size_t address_inside(const uint8_t address[IP_ADDRESS_BYTES],
                      uint8_t inside[ADDRESS_INSIDE_MAX][IP_ADDRESS_BYTES]) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && count < ADDRESS_INSIDE_MAX; i++) {
        const struct form *form = &forms[i];
        if (!address_block_contains(&form->block, address))
            continue;
        if (form->one_of && (address[form->at[0]] == 0 || !nothing_behind(address, form->at[3])))
            continue;
        struct address_block v4 = V4(0, 0, 0, 0, 32);
        for (size_t part = 0; part < sizeof form->at; part++)
            v4.address[IP_ADDRESS_BYTES - sizeof form->at + part] = address[form->at[part]] ^ form->mask;
        memcpy(inside[count++], v4.address, IP_ADDRESS_BYTES);
    }
    return count;
}

static const struct special *special_of(const uint8_t address[IP_ADDRESS_BYTES]) {
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (address_block_contains(&specials[i].block, address))
            return &specials[i];
    return NULL;
}

const char *address_class(const uint8_t address[IP_ADDRESS_BYTES], unsigned *prefix) {
    const struct special *special = special_of(address);
    if (prefix != NULL)
        *prefix = special != NULL ? special->block.prefix : ADDRESS_BLOCK_ONE;
    uint8_t inside[ADDRESS_INSIDE_MAX][IP_ADDRESS_BYTES];
    size_t count = special != NULL ? 0 : address_inside(address, inside);
    for (size_t i = 0; special == NULL && i < count; i++)
        special = special_of(inside[i]);
    return special == NULL ? NULL : special->words;
}
