/* Fuzzes the reader of DNS questions, and every answer that is made to what it read. */
#include "exact.h"
#include "protocol/dns_message.h"

static void answers(const uint8_t *bytes, const struct dns_question *question) {
    static const uint8_t address[4] = {198, 18, 0, 7};
    for (enum dns_answer_kind kind = DNS_ADDRESS; kind <= DNS_FORMERR; kind++) {
        uint8_t *out = malloc(DNS_ANSWER_MAX);
        check(out != NULL);
        size_t size = dns_answer_make(bytes, question, kind, address, 300, out);
        check(size >= 12 && size <= DNS_ANSWER_MAX);
        check(out[0] == question->id >> 8 && out[1] == (question->id & 0xff) && (out[2] & 0x80) != 0);
        struct dns_question again;
        bool formerr;
        check(dns_question_parse(out, size, &again, &formerr) == -1 && !formerr);
        /* As a question it is the same one again. */
        out[2] &= 0x7f;
        if (kind != DNS_ADDRESS && question->end > 12) {
            check(dns_question_parse(out, size, &again, &formerr) == 0 && again.edns == question->edns);
            check(again.type == question->type && strcmp(again.name, question->name) == 0);
        }
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct dns_question question;
    bool formerr;
    uint8_t *bytes = exact_copy(data, size);
    int result = dns_question_parse(bytes, size, &question, &formerr);
    check(result == -1 || !formerr);
    if (result == 0) {
        size_t length = strnlen(question.name, sizeof question.name);
        check(length <= DNS_NAME_MAX && question.end <= size && question.end > 12);
        check(!question.usable ||
              (length > 0 && strspn(question.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length));
    }
    if (result == 0 || formerr)
        answers(bytes, &question);
    free(bytes);
    return 0;
}
