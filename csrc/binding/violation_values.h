/* Violations as JS values. */
#ifndef OS_SANDBOX_BINDING_VIOLATION_VALUES_H
#define OS_SANDBOX_BINDING_VIOLATION_VALUES_H

#include <node_api.h>
#include <stddef.h>

#include "violations/violation.h"

/* {operation, path?, host?, port?, why?, pid, process, time}, time in milliseconds. */
napi_value violation_object(napi_env env, const struct violation *violation);

/* [id, count, id, count, …] */
napi_value violation_counts(napi_env env, const struct violation_count *counts, size_t count);

#endif
