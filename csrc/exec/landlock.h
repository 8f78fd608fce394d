/*
 * The kernel's own refusal of what only the supervisor may do for a command: new names, and opens for writing
 * (landlock(7)). Whoever gets past the supervisor's word on a call, by changing its memory while it goes on,
 * ends here.
 */
#ifndef OS_SANDBOX_EXEC_LANDLOCK_H
#define OS_SANDBOX_EXEC_LANDLOCK_H

/*
 * Restricts the calling thread, and all it starts, for good: it makes no names, and opens files for writing
 * beneath /dev alone. Files that it is given stay as they were opened. no_new_privs must be set. 0, or an
 * errno where there is no such thing: ENOSYS or EOPNOTSUPP (Linux before 5.13, or switched off), EPERM (a
 * container's filter), E2BIG (domains of others, 16 deep).
 */
int landlock_enter(void);

#endif
