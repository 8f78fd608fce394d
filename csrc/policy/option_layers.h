/* Several layers of options as one document. Pure. */
#ifndef OS_SANDBOX_POLICY_OPTION_LAYERS_H
#define OS_SANDBOX_POLICY_OPTION_LAYERS_H

#include "base/error.h"
#include "base/strvec.h"

/*
 * Merges documents that options_parse takes, the earliest first, by what option_table.h says of each option:
 * a denial of any of them is one of the result's. 0 with *out, which the caller frees; -1 with
 * options_parse's error where it refuses one.
 */
int options_merge(const struct strvec *documents, char **out, struct error *err);

#endif
