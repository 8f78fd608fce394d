/* What a run left whose supervisor was killed, and with it the last look at its git directories. */
#ifndef OS_SANDBOX_EXEC_LEFTOVERS_H
#define OS_SANDBOX_EXEC_LEFTOVERS_H

#include <sys/types.h>

#include "exec/session_index.h"

/*
 * Forks a child that makes git directories harmless which no supervisor looks after any more
 * (rules_finish()): to be called when every process of their run is gone. It comes to its end without the
 * caller, too. Its pid, or -1 with errno.
 */
pid_t leftovers_fork(struct session_index *index);

#endif
