/*
 * The system calls that a run may not simply make: which are refused and how, which the supervisor is asked
 * about. One table; the filter (seccomp_filter.h) and its tests are made of it.
 */
#ifndef OS_SANDBOX_EXEC_SECCOMP_TABLE_H
#define OS_SANDBOX_EXEC_SECCOMP_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* What a rule asks of one argument. But for SECCOMP_SET these look at the low 32 bits, as the kernel does for
 * flags, commands and families: a bit above them must not hide the call (CVE-2019-10063). */
enum seccomp_test {
    SECCOMP_ALWAYS,
    SECCOMP_IS,     /* equal to value */
    SECCOMP_IS_NOT, /* anything else */
    SECCOMP_HAS,    /* any bit of value */
    SECCOMP_SET,    /* not zero, in all 64 bits: a pointer */
};

enum seccomp_verdict {
    SECCOMP_ALLOW,
    SECCOMP_REFUSE, /* detail: the errno */
    SECCOMP_NOTIFY, /* detail: the bit of enum supervision that asks for it; allowed where that is not set */
};

/* Rules of one call stand together; the first whose test holds decides, and where none holds it is allowed.
 */
struct seccomp_rule {
    int number;
    struct {
        enum seccomp_test test;
        unsigned argument;
        uint32_t value;
    } when;
    struct {
        enum seccomp_verdict verdict;
        unsigned detail;
    } then;
};

extern const struct seccomp_rule seccomp_table[];
extern const size_t seccomp_table_length;

/* Numbers that mean nothing to this table are refused with ENOSYS: those above the newest that it knows, and
 * gaps that a later kernel may fill. */
#define SECCOMP_NEWEST 469u /* file_setattr, Linux 6.17 */
#ifdef __x86_64__
#define SECCOMP_GAP_FIRST 337u /* 336 is uprobe, Linux 6.18 */
#else
#define SECCOMP_GAP_FIRST 295u
#endif
#define SECCOMP_GAP_LAST 423u

/* Numbers that older headers do not have: from 424 on they are the same on every architecture but alpha and
 * mips (include/uapi/asm-generic/unistd.h). */
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#define __NR_io_uring_enter 426
#define __NR_io_uring_register 427
#endif
#ifndef __NR_open_tree
#define __NR_open_tree 428
#define __NR_move_mount 429
#define __NR_fsopen 430
#define __NR_fsconfig 431
#define __NR_fsmount 432
#define __NR_fspick 433
#endif
#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif

#endif
