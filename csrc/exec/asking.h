/* Questions of a run's supervisor to the addon (question.h), on behalf of a call that waits for the answer.
 */
#ifndef OS_SANDBOX_EXEC_ASKING_H
#define OS_SANDBOX_EXEC_ASKING_H

#include "exec/question.h"
#include "exec/supervised.h"

/*
 * Asks and waits, 10 s at most (waiting.h); version, run and pid of the question are set here. Its texts end
 * within the answer. 0, or an errno: ETIMEDOUT where there is no answer, also where nobody can be asked or
 * whoever was asked went away; EAGAIN where too many wait already; ERESTARTNOINTR where the command's thread
 * has a signal to handle, and the call is to start again after that (waiting.h).
 */
int asking_wait(struct call *call, struct network_question *question, struct network_answer *answer);

/* Tells, and waits for nothing but room; what cannot be told is lost. */
void asking_tell(struct call *call, struct network_question *question);

#endif
