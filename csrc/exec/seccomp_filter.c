#include "exec/seccomp_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exec/payload.h"
#include "exec/seccomp_table.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0u /* no filter: the table is not made for it */
#endif

#ifdef __x86_64__
#define X32_BIT 0x40000000u
#endif
#define NO_CALL UINT32_MAX /* a tracer skips a call by this number (ptrace(2)); the kernel makes none */

/* Jumps reach forward only, and at most so far. */
#define JUMP_MAX UINT8_MAX

struct program {
    struct sock_filter *out;
    size_t capacity;
    size_t length; /* that it would need: beyond the capacity nothing is written */
    bool broken;   /* a jump that does not reach */
};

static void emit(struct program *program, unsigned code, unsigned if_true, unsigned if_false,
                 uint32_t value) {
    if (program->length < program->capacity)
        program->out[program->length] = (struct sock_filter){
            .code = (uint16_t)code, .jt = (uint8_t)if_true, .jf = (uint8_t)if_false, .k = value};
    program->length++;
}

static void emit_load(struct program *program, size_t offset) {
    emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void emit_return(struct program *program, uint32_t action) {
    emit(program, BPF_RET | BPF_K, 0, 0, action);
}

/* One comparison; how many instructions to go over when it holds, and when not. */
static void emit_jump(struct program *program, unsigned comparison, uint32_t value, unsigned if_true,
                      unsigned if_false) {
    emit(program, BPF_JMP | comparison | BPF_K, if_true, if_false, value);
}

/* The jump at that place goes over all that has been added since when its comparison does not hold. */
static void set_jump(struct program *program, size_t jump) {
    size_t over = program->length - jump - 1;
    if (over > JUMP_MAX)
        program->broken = true;
    else if (jump < program->capacity)
        program->out[jump].jf = (uint8_t)over;
}

static uint32_t action_of(const struct seccomp_rule *rule, unsigned supervision) {
    bool supervised = (supervision & SUPERVISE_FILTER) != 0 && (supervision & rule->then.detail) != 0;
    switch (rule->then.verdict) {
    case SECCOMP_REFUSE:
        return SECCOMP_RET_ERRNO | rule->then.detail;
    case SECCOMP_NOTIFY:
        return supervised ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    case SECCOMP_ALLOW:
        break;
    }
    return SECCOMP_RET_ALLOW;
}

/* The two halves of an argument, little-endian. */
static size_t low_half(unsigned argument) {
    return offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);
}
static size_t high_half(unsigned argument) {
    return low_half(argument) + sizeof(uint32_t);
}

/* Comparisons after which the next instruction runs where the rule's test holds, and the one after it else.
 */
static void emit_test(struct program *program, const struct seccomp_rule *rule) {
    uint32_t value = rule->when.value;
    if (rule->when.test != SECCOMP_ALWAYS)
        emit_load(program, low_half(rule->when.argument));
    switch (rule->when.test) {
    case SECCOMP_ALWAYS:
        break;
    case SECCOMP_IS:
        emit_jump(program, BPF_JEQ, value, 0, 1);
        break;
    case SECCOMP_IS_NOT:
        emit_jump(program, BPF_JEQ, value, 1, 0);
        break;
    case SECCOMP_HAS:
        emit_jump(program, BPF_JSET, value, 0, 1);
        break;
    case SECCOMP_SET:
        emit_jump(program, BPF_JEQ, 0, 0, 2);
        emit_load(program, high_half(rule->when.argument));
        emit_jump(program, BPF_JEQ, 0, 1, 0);
        break;
    }
}

/* All rules of one call, as a block that is gone over for any other number, and is never left but by a
 * return. */
static void emit_call(struct program *program, const struct seccomp_rule *rules, size_t count,
                      unsigned supervision) {
    bool matters = false;
    for (size_t i = 0; i < count; i++)
        matters = matters || action_of(&rules[i], supervision) != SECCOMP_RET_ALLOW;
    if (!matters)
        return;
    size_t jump = program->length;
    emit_jump(program, BPF_JEQ, (uint32_t)rules[0].number, 0, 0);
    for (size_t i = 0; i < count; i++) {
        emit_test(program, &rules[i]);
        emit_return(program, action_of(&rules[i], supervision));
    }
    if (rules[count - 1].when.test != SECCOMP_ALWAYS)
        emit_return(program, SECCOMP_RET_ALLOW);
    set_jump(program, jump);
}

/* Leaves the number in the accumulator. */
static void emit_head(struct program *program) {
    emit_load(program, offsetof(struct seccomp_data, arch));
    emit_jump(program, BPF_JEQ, OWN_ARCHITECTURE, 1, 0);
    emit_return(program, SECCOMP_RET_KILL_PROCESS);
    emit_load(program, offsetof(struct seccomp_data, nr));
    size_t known = program->length;
    emit_jump(program, BPF_JGT, SECCOMP_NEWEST, 0, 0);
    emit_jump(program, BPF_JEQ, NO_CALL, 0, 1);
    emit_return(program, SECCOMP_RET_ALLOW);
#ifdef __x86_64__
    emit_jump(program, BPF_JSET, X32_BIT, 0, 1);
    emit_return(program, SECCOMP_RET_KILL_PROCESS);
#endif
    emit_return(program, SECCOMP_RET_ERRNO | ENOSYS);
    set_jump(program, known);
}

static void emit_tail(struct program *program) {
    emit_jump(program, BPF_JGE, SECCOMP_GAP_FIRST, 0, 2);
    emit_jump(program, BPF_JGT, SECCOMP_GAP_LAST, 1, 0);
    emit_return(program, SECCOMP_RET_ERRNO | ENOSYS);
    emit_return(program, SECCOMP_RET_ALLOW);
}

/* Private writable mappings (mmap(2)) that alone are larger than that. No others: a signal interrupts a call
 * that waits for its answer, and no program expects that of mmap. */
static void emit_memory(struct program *program, uint64_t most) {
    size_t jump = program->length;
    emit_jump(program, BPF_JEQ, __NR_mmap, 0, 0);
    emit_load(program, low_half(2));
    emit_jump(program, BPF_JSET, PROT_WRITE, 1, 0);
    emit_return(program, SECCOMP_RET_ALLOW);
    emit_load(program, low_half(3));
    emit(program, BPF_ALU | BPF_AND | BPF_K, 0, 0, MAP_TYPE);
    emit_jump(program, BPF_JEQ, MAP_PRIVATE, 1, 0);
    emit_return(program, SECCOMP_RET_ALLOW);
    emit_load(program, high_half(1));
    emit_jump(program, BPF_JGT, (uint32_t)(most >> 32), 3, 0);
    emit_jump(program, BPF_JEQ, (uint32_t)(most >> 32), 0, 3);
    emit_load(program, low_half(1));
    emit_jump(program, BPF_JGT, (uint32_t)most, 0, 1);
    emit_return(program, SECCOMP_RET_USER_NOTIF);
    emit_return(program, SECCOMP_RET_ALLOW);
    set_jump(program, jump);
}

size_t seccomp_filter_build(unsigned supervision, uint64_t memory, struct sock_filter *out, size_t capacity) {
    if (OWN_ARCHITECTURE == 0)
        return 0;
    struct program program = {.out = out, .capacity = capacity};
    emit_head(&program);
    for (size_t i = 0, count; i < seccomp_table_length; i += count) {
        count = 1;
        while (i + count < seccomp_table_length && seccomp_table[i + count].number == seccomp_table[i].number)
            count++;
        emit_call(&program, &seccomp_table[i], count, supervision);
    }
    if (memory != 0 && (supervision & SUPERVISE_FILTER) != 0)
        emit_memory(&program, memory);
    emit_tail(&program);
    return program.broken || program.length > capacity ? 0 : program.length;
}

int seccomp_filter_install(unsigned supervision, uint64_t memory, int *listener) {
    *listener = -1;
    struct sock_filter code[SECCOMP_FILTER_MAX];
    size_t length = seccomp_filter_build(supervision, memory, code, SECCOMP_FILTER_MAX);
    if (length == 0)
        return ENOSYS;
    bool supervised = (supervision & SUPERVISE_FILTER) != 0;
    unsigned long flags =
        supervised ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
    const struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result < 0)
        return errno;
    if (supervised)
        *listener = (int)result;
    return 0;
}
