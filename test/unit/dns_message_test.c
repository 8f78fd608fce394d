#include "protocol/dns_message.h"

#include "guarded.h"
#include "tap.h"

#define B(text) text, sizeof(text) - 1

/* Header of a query: id, flags, counts. */
#define HEAD(flags, questions, more) "\x12\x34" flags "\0" questions "\0\0\0\0\0" more
#define PLAIN HEAD("\1\0", "\1", "\0")
#define WITH_EDNS HEAD("\1\0", "\1", "\1")
#define EXAMPLE "\7example\3com\0"
#define A_IN "\0\1\0\1"
#define EDNS "\0\0\51\4\320\0\0\0\0\0\0"

#define LABEL63                                                                                              \
    "\77"                                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TEXT63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LABEL61                                                                                              \
    "\75"                                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TEXT61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *bytes;
    size_t size;
    const char *name; /* NULL: not usable */
    uint16_t type;
    bool internet, edns;
} accepted[] = {
    {B(PLAIN EXAMPLE A_IN), "example.com", DNS_A, true, false},
    {B(PLAIN "\7eXaMpLe\3COM\0" A_IN), "example.com", DNS_A, true, false},
    {B(PLAIN "\3a-_\3xn-\0\0\34\0\1"), "a-_.xn-", DNS_AAAA, true, false},
    {B(PLAIN EXAMPLE "\0\101\0\1"), "example.com", DNS_HTTPS, true, false},
    {B(PLAIN EXAMPLE "\0\1\0\3"), "example.com", DNS_A, false, false},
    {B(PLAIN EXAMPLE "\377\377\0\377"), "example.com", 65535, false, false},
    {B(WITH_EDNS EXAMPLE A_IN EDNS), "example.com", DNS_A, true, true},
    /* A cookie option; another record before EDNS's. */
    {B(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\320\0\0\0\0\0\14\0\12\0\10abcdefgh"), "example.com", DNS_A, true,
     true},
    {B(HEAD("\1\0", "\1", "\2") EXAMPLE A_IN "\1x\0\0\20\0\1\0\0\0\0\0\2\1y" EDNS), "example.com", DNS_A,
     true, true},
    {B(PLAIN LABEL63 LABEL63 LABEL63 LABEL61 "\0" A_IN), TEXT63 "." TEXT63 "." TEXT63 "." TEXT61, DNS_A, true,
     false},
    {B(PLAIN "\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\7exam.le\3com\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\7exam\0le\3com\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\7exam le\3com\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\7exam\nle\3com\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\7exam%le\3com\0" A_IN), NULL, DNS_A, true, false},
    {B(PLAIN "\11exam\xc3\xa4"
             "le1\3com\0" A_IN),
     NULL, DNS_A, true, false},
};

static const struct {
    const char *bytes;
    size_t size;
    bool formerr;
    const char *what;
} refused[] = {
    {B(""), false, "nothing"},
    {B("\x12\x34\1\0\0\1\0\0\0\0\0"), false, "less than a header"},
    {B(HEAD("\x81\0", "\1", "\0") EXAMPLE A_IN), false, "an answer"},
    {B(HEAD("\x10\0", "\1", "\0") EXAMPLE A_IN), true, "another operation"},
    {B(HEAD("\x28\0", "\1", "\0") EXAMPLE A_IN), true, "an update"},
    {B(HEAD("\1\0", "\0", "\0")), true, "no question"},
    {B(HEAD("\1\0", "\2", "\0") EXAMPLE A_IN EXAMPLE A_IN), true, "two questions"},
    {B("\x12\x34\1\0\0\1\0\1\0\0\0\0" EXAMPLE A_IN EXAMPLE A_IN "\0\0\0\0\0\0"), true,
     "a question with an answer"},
    {B("\x12\x34\1\0\0\1\0\0\0\1\0\0" EXAMPLE A_IN EXAMPLE A_IN "\0\0\0\0\0\0"), true,
     "a question with an authority"},
    {B(PLAIN), true, "a question that is missing"},
    {B(PLAIN "\7example\3com"), true, "a name without its end"},
    {B(PLAIN "\7exam"), true, "a label without its end"},
    {B(PLAIN EXAMPLE "\0\1\0"), true, "a question without its end"},
    {B(PLAIN "\xc0\x0c" A_IN), true, "a name that points to itself"},
    {B(PLAIN "\7example\xc0\x0c" A_IN), true, "a name that ends in a pointer"},
    {B(PLAIN "\x40"
             "a\0" A_IN),
     true, "a label of another kind"},
    {B(PLAIN "\x80"
             "a\0" A_IN),
     true, "a label of yet another kind"},
    {B(PLAIN LABEL63 LABEL63 LABEL63 LABEL61 "\1a\0" A_IN), true, "a name of more than 255 bytes"},
    {B(PLAIN LABEL63 LABEL63 LABEL63 LABEL63 "\0" A_IN), true, "a name of 257 bytes"},
    {B(PLAIN EXAMPLE A_IN "x"), true, "something behind it"},
    {B(WITH_EDNS EXAMPLE A_IN), true, "a record that is missing"},
    {B(WITH_EDNS EXAMPLE A_IN "\0\0\51\4\320\0\0\0\0\0\1"), true, "a record that is longer than the message"},
    {B(WITH_EDNS EXAMPLE A_IN "\1a\0\0\51\4\320\0\0\0\0\0\0"), true, "EDNS of a name"},
    {B(HEAD("\1\0", "\1", "\2") EXAMPLE A_IN EDNS EDNS), true, "EDNS twice"},
    {B("\x12\x34\1\0\0\1\0\0\0\0\377\377" EXAMPLE A_IN EDNS), true, "more records than there are"},
};

static void test_accepted(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct dns_question out;
        bool formerr = true;
        size_t size = accepted[i].size;
        if (!ok(dns_question_parse(guarded(accepted[i].bytes, size), size, &out, &formerr) == 0 && !formerr,
                "question %zu is read", i))
            continue;
        ok(out.id == 0x1234 && out.recursion_desired && out.type == accepted[i].type &&
               out.internet == accepted[i].internet && out.edns == accepted[i].edns,
           "with its facts");
        ok(out.usable == (accepted[i].name != NULL), "its name is one that a rule can have, or is not");
        if (accepted[i].name != NULL)
            is_str(out.name, accepted[i].name, "in lower case");
        size_t cut = 0;
        for (size_t part = 0; part < size; part++)
            cut += dns_question_parse(guarded(accepted[i].bytes, part), part, &out, &formerr) != 0;
        is_int((long long)cut, (long long)size, "cut anywhere it is none");
    }
}

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct dns_question out;
        bool formerr = !refused[i].formerr;
        uint8_t answer[DNS_ANSWER_MAX];
        size_t size = refused[i].size;
        const uint8_t *bytes = guarded(refused[i].bytes, size);
        ok(dns_question_parse(bytes, size, &out, &formerr) == -1, "refused: %s", refused[i].what);
        ok(formerr == refused[i].formerr, "and answered, or dropped");
        if (!formerr)
            continue;
        is_int((long long)dns_answer_make(bytes, &out, DNS_FORMERR, NULL, 0, answer), out.edns ? 23 : 12,
               "the answer repeats nothing of it");
        ok(memcmp(answer, "\x12\x34", 2) == 0 && (answer[2] & 0x80) != 0 && answer[3] == 0x81 &&
               answer[5] == 0,
           "but says that it was malformed");
    }
}

static void test_long(void) {
    static uint8_t bytes[DNS_QUESTION_MAX + 1] = PLAIN EXAMPLE A_IN;
    struct dns_question out;
    bool formerr = true;
    ok(dns_question_parse(guarded(bytes, sizeof bytes), sizeof bytes, &out, &formerr) == -1 && !formerr,
       "a message of more than 4096 bytes is dropped");
}

/* --- answers --- */

#define COUNTS(answers, more) "\0\1\0" answers "\0\0\0" more
#define RECORD "\xc0\x0c\0\1\0\1\0\0\1\54\0\4\306\22\0\7"
#define OUR_EDNS "\0\0\51\4\320\0\0\0\0\0\0"

static const struct {
    const char *question;
    size_t question_size;
    enum dns_answer_kind kind;
    const char *answer;
    size_t size;
} answers[] = {
    {B(PLAIN "\7eXample\3com\0" A_IN), DNS_ADDRESS,
     B("\x12\x34\x81\x80" COUNTS("\1", "\0") "\7eXample\3com\0" A_IN RECORD)},
    {B(WITH_EDNS EXAMPLE A_IN EDNS), DNS_ADDRESS,
     B("\x12\x34\x81\x80" COUNTS("\1", "\1") EXAMPLE A_IN RECORD OUR_EDNS)},
    {B(PLAIN EXAMPLE "\0\34\0\1"), DNS_NO_DATA, B("\x12\x34\x81\x80" COUNTS("\0", "\0") EXAMPLE "\0\34\0\1")},
    {B(PLAIN "\0" A_IN), DNS_NXDOMAIN, B("\x12\x34\x81\x83" COUNTS("\0", "\0") "\0" A_IN)},
    {B(HEAD("\0\0", "\1", "\0") EXAMPLE A_IN), DNS_REFUSED,
     B("\x12\x34\x80\x85" COUNTS("\0", "\0") EXAMPLE A_IN)},
    {B(WITH_EDNS EXAMPLE A_IN EDNS), DNS_SERVFAIL,
     B("\x12\x34\x81\x82" COUNTS("\0", "\1") EXAMPLE A_IN OUR_EDNS)},
};

static void test_answers(void) {
    static const uint8_t address[4] = {198, 18, 0, 7};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct dns_question question;
        bool formerr;
        uint8_t out[DNS_ANSWER_MAX];
        const uint8_t *bytes = guarded(answers[i].question, answers[i].question_size);
        if (!ok(dns_question_parse(bytes, answers[i].question_size, &question, &formerr) == 0, "is read"))
            continue;
        size_t size = dns_answer_make(bytes, &question, answers[i].kind, address, 300, out);
        ok(size == answers[i].size && memcmp(out, answers[i].answer, size) == 0,
           "answer %zu is byte by byte right", i);
    }
}

static void test_longest(void) {
    static const char bytes[] = WITH_EDNS LABEL63 LABEL63 LABEL63 LABEL61 "\0" A_IN EDNS;
    static const uint8_t address[4] = {198, 18, 0, 7};
    struct dns_question question;
    bool formerr;
    uint8_t out[DNS_ANSWER_MAX];
    ok(dns_question_parse(guarded(B(bytes)), sizeof bytes - 1, &question, &formerr) == 0,
       "the longest name is read");
    is_int((long long)dns_answer_make((const uint8_t *)bytes, &question, DNS_ADDRESS, address, 1, out), 298,
           "and its answer fits");
    question.end = 500;
    is_int((long long)dns_answer_make((const uint8_t *)bytes, &question, DNS_ADDRESS, address, 1, out), 0,
           "what would not fit is not made");
}

int main(void) {
    test_accepted();
    test_refused();
    test_long();
    test_answers();
    test_longest();
    return done_testing();
}
