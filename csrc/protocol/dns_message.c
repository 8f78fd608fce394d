#include "protocol/dns_message.h"

#include <string.h>

#include "protocol/cursor.h"

#define HEADER_SIZE 12
#define LABEL_MAX 63
#define WIRE_NAME_MAX 255 /* RFC 1035, 2.3.4: lengths and the root's 0 counted */

#define FLAG_RESPONSE 0x8000u
#define FLAG_RECURSION_DESIRED 0x0100u
#define FLAG_RECURSION_AVAILABLE 0x0080u
#define FLAGS_OPCODE 0x7800u

#define CLASS_INTERNET 1
#define TYPE_OPT 41                 /* RFC 6891 */
#define EDNS_PAYLOAD 1232           /* what is sure to pass unfragmented: DNS flag day 2020 */
#define NAME_OF_THE_QUESTION 0xc00c /* a pointer behind the header */

/* Lower case; or 0 for what is in no name of a rule. */
static char name_byte(uint8_t byte) {
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte - 'A' + 'a');
    bool known = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    return known ? (char)byte : '\0';
}

/* A label to the end of the name's text, behind a dot where it is not the first. *usable becomes false for
 * odd bytes. */
static void add_label(const struct cursor *label, char *name, size_t *length, bool *usable) {
    if (*length > 0)
        name[(*length)++] = '.';
    for (size_t i = 0; i < label->left; i++) {
        char byte = name_byte(label->at[i]);
        *usable = *usable && byte != '\0';
        name[(*length)++] = byte == '\0' ? '?' : byte;
    }
}

/* A name of labels: compression has nothing to point to in a question. Of at most 255 bytes, hence its text
 * fits. */
static bool take_name(struct cursor *cursor, char name[DNS_NAME_MAX + 1], bool *usable) {
    struct cursor label;
    size_t length = 0, wire = 1;
    *usable = true;
    while (cursor->left > 0 && cursor->at[0] <= LABEL_MAX && cursor_vector(cursor, 1, &label)) {
        if (label.left == 0) {
            name[length] = '\0';
            *usable = *usable && length > 0;
            return true;
        }
        wire += 1 + label.left;
        if (wire > WIRE_NAME_MAX)
            return false;
        add_label(&label, name, &length, usable);
    }
    return false;
}

/* One record behind the question: of these only EDNS's is looked at, whose name is the root. */
static bool take_additional(struct cursor *cursor, bool *edns) {
    char name[DNS_NAME_MAX + 1];
    bool usable;
    uint32_t type;
    struct cursor data;
    if (!take_name(cursor, name, &usable) || !cursor_number(cursor, 2, &type) ||
        !cursor_skip(cursor, 2 + 4) || !cursor_vector(cursor, 2, &data))
        return false;
    if (type != TYPE_OPT)
        return true;
    bool first = !*edns;
    *edns = true;
    return first && name[0] == '\0';
}

struct counts {
    uint32_t questions, answers, authorities, additionals;
};

static bool take_header(struct cursor *cursor, uint32_t *id, uint32_t *flags, struct counts *counts) {
    return cursor_number(cursor, 2, id) && cursor_number(cursor, 2, flags) &&
           cursor_number(cursor, 2, &counts->questions) && cursor_number(cursor, 2, &counts->answers) &&
           cursor_number(cursor, 2, &counts->authorities) && cursor_number(cursor, 2, &counts->additionals);
}

static bool take_question(struct cursor *cursor, struct dns_question *out) {
    uint32_t type, class;
    if (!take_name(cursor, out->name, &out->usable) || !cursor_number(cursor, 2, &type) ||
        !cursor_number(cursor, 2, &class))
        return false;
    out->type = (uint16_t)type;
    out->internet = class == CLASS_INTERNET;
    return true;
}

int dns_question_parse(const uint8_t *bytes, size_t size, struct dns_question *out, bool *formerr) {
    struct cursor cursor = cursor_over(bytes, size);
    struct counts counts;
    uint32_t id, flags;
    *formerr = false;
    /* An answer to an answer would go on for ever. */
    if (size > DNS_QUESTION_MAX || !take_header(&cursor, &id, &flags, &counts) ||
        (flags & FLAG_RESPONSE) != 0)
        return -1;
    *out = (struct dns_question){
        .id = (uint16_t)id,
        .recursion_desired = (flags & FLAG_RECURSION_DESIRED) != 0,
        .end = HEADER_SIZE,
    };
    *formerr = true;
    if ((flags & FLAGS_OPCODE) != 0 || counts.questions != 1 || counts.answers != 0 ||
        counts.authorities != 0 || !take_question(&cursor, out))
        return -1;
    size_t end = size - cursor.left;
    for (uint32_t i = 0; i < counts.additionals; i++)
        if (!take_additional(&cursor, &out->edns))
            return -1;
    if (cursor.left > 0)
        return -1;
    out->end = end;
    *formerr = false;
    return 0;
}

/* --- answers --- */

struct answer {
    uint8_t *out;
    size_t size;
};

static void put_bytes(struct answer *answer, const uint8_t *bytes, size_t size) {
    memcpy(answer->out + answer->size, bytes, size);
    answer->size += size;
}

static void put(struct answer *answer, size_t size, uint32_t value) {
    for (size_t i = size; i-- > 0;)
        answer->out[answer->size++] = (uint8_t)(value >> (8 * i));
}

static void put_address(struct answer *answer, const uint8_t address[4], uint32_t ttl) {
    put(answer, 2, NAME_OF_THE_QUESTION);
    put(answer, 2, DNS_A);
    put(answer, 2, CLASS_INTERNET);
    put(answer, 4, ttl);
    put(answer, 2, 4);
    put_bytes(answer, address, 4);
}

/* The root's name, type, our payload size in the class's place, no flags, no options: version 0. */
static void put_edns(struct answer *answer) {
    put(answer, 1, 0);
    put(answer, 2, TYPE_OPT);
    put(answer, 2, EDNS_PAYLOAD);
    put(answer, 4, 0);
    put(answer, 2, 0);
}

#define ADDRESS_SIZE 16
#define EDNS_SIZE 11

/* RFC 1035, 4.1.1 */
static const uint8_t codes[] = {
    [DNS_ADDRESS] = 0,  [DNS_NO_DATA] = 0,  [DNS_FORMERR] = 1,
    [DNS_SERVFAIL] = 2, [DNS_NXDOMAIN] = 3, [DNS_REFUSED] = 5,
};

size_t dns_answer_make(const uint8_t *bytes, const struct dns_question *question, enum dns_answer_kind kind,
                       const uint8_t address[4], uint32_t ttl, uint8_t out[DNS_ANSWER_MAX]) {
    struct answer answer = {.out = out};
    if (question->end < HEADER_SIZE || question->end + ADDRESS_SIZE + EDNS_SIZE > DNS_ANSWER_MAX)
        return 0;
    bool has_question = question->end > HEADER_SIZE;
    uint32_t flags = FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | codes[kind] |
                     (question->recursion_desired ? FLAG_RECURSION_DESIRED : 0);
    put(&answer, 2, question->id);
    put(&answer, 2, flags);
    put(&answer, 2, has_question);
    put(&answer, 2, has_question && kind == DNS_ADDRESS);
    put(&answer, 2, 0);
    put(&answer, 2, question->edns);
    put_bytes(&answer, bytes + HEADER_SIZE, question->end - HEADER_SIZE);
    if (has_question && kind == DNS_ADDRESS)
        put_address(&answer, address, ttl);
    if (question->edns)
        put_edns(&answer);
    return answer.size;
}
