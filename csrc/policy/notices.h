/* Options that are accepted and validated although this version does less than they ask for: said, never
 * pretended. */
#ifndef OS_SANDBOX_POLICY_NOTICES_H
#define OS_SANDBOX_POLICY_NOTICES_H

#include "base/strvec.h"
#include "policy/options.h"

/* Appends a sentence per option that has no effect yet. Each is stricter without it. 0, or -1: out of memory.
 */
int options_notices(const struct options *options, struct strvec *out);

#endif
