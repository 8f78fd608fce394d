#include "exec/supervised.h"

#include <sys/ioctl.h>

void answer_send(const struct call *call, struct answer answer) {
    struct seccomp_notif_resp response = {.id = call->id};
    if (answer.kind == ANSWER_CONTINUE)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (answer.value < 0)
        response.error = (int)answer.value;
    else
        response.val = answer.value;
    ioctl(call->supervisor->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}
