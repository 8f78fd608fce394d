/* This process and its terminal, as JS functions: for a command line. */
#ifndef OS_SANDBOX_BINDING_PROCESS_BINDING_H
#define OS_SANDBOX_BINDING_PROCESS_BINDING_H

#include <node_api.h>

/* dieOfSignal(number): ends this process by it, without a core file. Returns where it does not end one. */
napi_value process_binding_die(napi_env env, napi_callback_info info);

/*
 * terminalTake(fd) → token: this process's group is the foreground of the terminal, which is in a mode to
 * read lines in. undefined: it is no terminal of this session's. The token is good for one terminalGive.
 */
napi_value terminal_binding_take(napi_env env, napi_callback_info info);

/* terminalGive(token): puts foreground and modes back. */
napi_value terminal_binding_give(napi_env env, napi_callback_info info);

#endif
