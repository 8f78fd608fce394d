/* Explanations, and a plan, as JSON texts for the JS side. */
#ifndef OS_SANDBOX_EXPLAIN_EXPLAIN_JSON_H
#define OS_SANDBOX_EXPLAIN_EXPLAIN_JSON_H

#include "base/error.h"
#include "base/strvec.h"
#include "policy/fs_rules.h"
#include "policy/options.h"

struct explain_request {
    const struct options *options;
    struct fs_place place; /* but for memory and always_read_only */
    struct strvec paths;
    struct strvec hosts;
    bool plan;
};

/*
 * {"paths": [{path, resolved?, exists, read, write, connect?}…], "hosts": [{host, port?, verdict, why?, …}…],
 * "plan"?: {rootWritable, mounts: [{kind, path}…], names: [{read, glob, path}…], arguments: […]},
 * "warnings": […]}, in the request's order; a reason is {allowed, why, list?, entry?, at?}; a host that is
 * none is null. Looks at the file system, with a command's rights: for a thread of the pool. NULL with *err.
 */
char *explain_json(struct explain_request *request, struct error *err);

#endif
