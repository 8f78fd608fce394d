/* Calls that make a process or a thread, where their number is limited. */
#include "exec/broker.h"

#include <errno.h>
#include <sys/syscall.h>

#include "exec/process_count.h"
#include "exec/report.h"

/* As fork(2) at RLIMIT_NPROC. */
static struct answer refuse(const struct call *call) {
    report_limit(call->supervisor->report, call, COST_PROCESSES, NULL);
    return answer_errno(EAGAIN);
}

/* What they want is in their registers: nobody can change it after the look. */
bool broker_processes(struct call *call, struct answer *answer) {
    struct process_count *count = call->supervisor->processes;
    switch (call->data->nr) {
    case __NR_clone:
#ifdef __x86_64__
    case __NR_fork:
    case __NR_vfork:
#endif
        *answer = count == NULL || process_count_add(count) ? answer_continue() : refuse(call);
        return true;
    default:
        return false;
    }
}
