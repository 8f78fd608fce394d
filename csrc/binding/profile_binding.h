/* Profiles of sandboxes on other systems, for whoever wants to read them. */
#ifndef OS_SANDBOX_BINDING_PROFILE_BINDING_H
#define OS_SANDBOX_BINDING_PROFILE_BINDING_H

#include <node_api.h>

/*
 * profileDarwin(policy, {home, accountHome?, cwd, tmpdir, additionalDirs?, proxyPort?, tag?, searchPath?,
 * program?, environment?, privateTmpdir?, caseSensitive?}) → string: the policy as a profile for
 * sandbox-exec(1) of macOS, with the paths resolved on this machine. additionalDirs and environment are
 * strings in which each item ends with NUL. Looks at the file system before it returns. Throws a TypeError
 * about an option that a profile cannot say.
 */
napi_value profile_binding_darwin(napi_env env, napi_callback_info info);

#endif
