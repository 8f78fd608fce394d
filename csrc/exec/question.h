/*
 * What a supervisor asks the addon: one datagram on the session's question socket, with a descriptor on which
 * the answer comes (one struct network_answer; an end without one is a refusal). Both come from one build.
 */
#ifndef OS_SANDBOX_EXEC_QUESTION_H
#define OS_SANDBOX_EXEC_QUESTION_H

#include <stdint.h>

#define QUESTION_VERSION 1u

enum question_type {
    /* TCP to an address and port where the table has no listener: shall there be one? */
    QUESTION_CONNECT = 1,
    QUESTION_LISTENING = 2, /* a command listens on that port now; no answer, no descriptor */
};

struct network_question {
    uint32_t version;
    uint32_t type; /* enum question_type */
    uint64_t run;
    uint32_t pid;        /* as the host sees it */
    uint16_t port;       /* host order */
    uint16_t reserved;   /* 0 */
    uint8_t address[16]; /* IPv4 mapped */
};

struct network_answer {
    uint32_t version;
    uint32_t allowed; /* 1: there is a listener now, or none is needed: connect. 0: refuse, and report why */
    char why[256];    /* NUL-terminated; what a violation says */
    char host[256];   /* the name that the address stands for, or "": the address itself */
};

#endif
