/* Where is a bwrap that may be trusted to build the sandbox? */
#ifndef OS_SANDBOX_PLATFORM_LINUX_FIND_BWRAP_H
#define OS_SANDBOX_PLATFORM_LINUX_FIND_BWRAP_H

/*
 * The system's places first (AppArmor grants user namespaces to /usr/bin/bwrap by path), then the PATH's
 * folders that are absolute. A file or folder that anybody but root may write is passed over: a command could
 * have put it there. An absolute path that the caller frees, or NULL.
 */
char *find_bwrap(const char *search_path);

/* Why a path is passed over, or NULL where it is not. */
const char *bwrap_fault(const char *path);

#endif
