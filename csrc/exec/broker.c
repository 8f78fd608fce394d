#include "exec/broker.h"

#include <errno.h>
#include <sys/syscall.h>

#include "exec/report.h"

/* The most frequent first. */
static bool (*const parts[])(struct call *, struct answer *) = {broker_open, broker_names, broker_objects,
                                                                broker_sockets, broker_sends};

/* Their addresses lie in memory: the kernel would read them again, after whoever decided
 * (seccomp_unotify(2)). */
static bool reaches_others(int number) {
    switch (number) {
    case __NR_connect:
    case __NR_bind:
    case __NR_sendto:
    case __NR_sendmsg:
    case __NR_sendmmsg:
        return true;
    default:
        return false;
    }
}

/* It is larger than all that the process may have (seccomp_filter.h). */
static struct answer refuse_memory(const struct call *call) {
    report_limit(call->supervisor->report, call, COST_MEMORY, NULL);
    return answer_errno(ENOMEM);
}

struct answer broker_answer(struct call *call) {
    struct answer answer;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i](call, &answer))
            return answer;
    if (call->data->nr == __NR_mmap)
        return refuse_memory(call);
    return reaches_others(call->data->nr) ? answer_errno(ENOSYS) : answer_continue();
}
