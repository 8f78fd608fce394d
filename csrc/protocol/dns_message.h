/* DNS questions and our own answers to them (RFC 1035, RFC 6891). Pure. */
#ifndef OS_SANDBOX_PROTOCOL_DNS_MESSAGE_H
#define OS_SANDBOX_PROTOCOL_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX 253
#define DNS_QUESTION_MAX 4096 /* longer messages are not read */
#define DNS_ANSWER_MAX 512

enum dns_type { DNS_A = 1, DNS_AAAA = 28, DNS_SVCB = 64, DNS_HTTPS = 65 };

struct dns_question {
    uint16_t id;
    bool recursion_desired;
    char name[DNS_NAME_MAX +
              1]; /* lower case, dotted, no trailing dot; bytes outside [a-z0-9_-] make it unusable */
    bool usable;  /* false: no name that a rule can have (the root, odd bytes): to be answered NXDOMAIN */
    uint16_t type;
    bool internet; /* class IN */
    bool edns;
    size_t end; /* of the question section, for the answer to copy */
};

/* 0; or -1 for what is no query with exactly one question: to be dropped, or, with *formerr, to be answered
 * DNS_FORMERR (*out has what dns_answer_make needs for that). */
int dns_question_parse(const uint8_t *bytes, size_t size, struct dns_question *out, bool *formerr);

enum dns_answer_kind {
    DNS_ADDRESS, /* one A record */
    DNS_NO_DATA, /* NOERROR, nothing */
    DNS_NXDOMAIN,
    DNS_REFUSED,
    DNS_SERVFAIL,
    DNS_FORMERR,
};

/*
 * The answer to the question that is in bytes, copied from there; ttl in seconds. Returns its size, 0 where
 * it does not fit.
 */
size_t dns_answer_make(const uint8_t *bytes, const struct dns_question *question, enum dns_answer_kind kind,
                       const uint8_t address[4], uint32_t ttl, uint8_t out[DNS_ANSWER_MAX]);

#endif
