/* A session as JS functions: the addon's whole run-time surface. */
#ifndef OS_SANDBOX_BINDING_SESSION_BINDING_H
#define OS_SANDBOX_BINDING_SESSION_BINDING_H

#include <node_api.h>

/*
 * startSession({helper, home, accountHome?, tmpdir, searchPath, policy, foreground?, unprobed?,
 * upstreamProxy?, noProxy?, onViolation, onAsk, onWithdraw}, started) → session. started(kind, text,
 * features) is called once: kind undefined and features {sessionNetwork, disableUserns, freshProc,
 * mountedBefore, supervised, filtered, capture, degradation, supervisionGap, networkGap, upstreamGap}, or
 * kind "dependency" | "host" with the reason. upstreamProxy and noProxy are what the host's environment says.
 * onViolation(id, {…}) is as a run's, for what was refused to nobody knows which run. onAsk(question, host,
 * port), the question a BigInt and port 0 none, wants an answerAsk, later; onWithdraw(question): no more.
 */
napi_value session_binding_start(napi_env env, napi_callback_info info);

/*
 * probeSession(session, started) → boolean: of one that was started unprobed, once a run has ended unstarted.
 * true: started is called later, once, as startSession's; false: there is nothing to find out.
 */
napi_value session_binding_probe(napi_env env, napi_callback_info info);

/* signalRun(session, run, number): this process got it; for the command, unless that got it as well. */
napi_value session_binding_signal(napi_env env, napi_callback_info info);

/* stopRun(session, run): TERM, then KILL after the run's grace. */
napi_value session_binding_stop(napi_env env, napi_callback_info info);

/*
 * disposeSession(session, disposed), once: ends all of it; disposed(counts, dropped) is called when nothing
 * is left, at once maybe: about what the session's onViolation was given, as a run's done says it.
 */
napi_value session_binding_dispose(napi_env env, napi_callback_info info);

/* optionSchema() → string: the table of known keys (options_schema_json). */
napi_value policy_binding_schema(napi_env env, napi_callback_info info);

/* makePolicy(document) → {handle}: a policy for any number of runs. Throws a TypeError whose message begins
 * with the option's path. */
napi_value policy_binding_make(napi_env env, napi_callback_info info);

/*
 * startRun(session, {policy, argv, command?, ambientEnv?, env, machineCwd, cwd, additionalDirs, stdin?,
 * descriptors?, timeoutMs?, maxOutputBytes?, graceMs, onOutput?, onViolation?, done}) → run number. Lists are
 * strings in which each item ends with NUL. ambientEnv is the process's environment where absent; env goes on
 * top of it: "NAME=value", or "NAME" to take it away. command is the text that ignoreViolations is about.
 * onOutput(stream, text) with stream 0 or 1; onViolation(id, {operation, path?, host?, port?, why?, pid,
 * process, time}) once for each kind of refusal that counts, as it happens, time in milliseconds;
 * done(error, exitCode, timedOut, truncated, terminated, stdout, stderr, warnings, block, counts, dropped,
 * signal, unstarted) once: signal is what the command died of, unstarted is of an error and true where there
 * was no command yet, which is told of runs in the foreground only. descriptors, three numbers, makes it one
 * of those: they are its stdio, and nothing is captured; its session must have been started so. block is the
 * text about the violations, if there were any, counts [id, count, …] of those that happened more than once.
 * None is ever called from inside startRun. Throws an Error where nothing was started.
 */
napi_value run_binding_start(napi_env env, napi_callback_info info);

/* answerAsk(session, question, allowed). Ignored where nobody waits for it any more. */
napi_value network_binding_answer(napi_env env, napi_callback_info info);

/* updateNetwork(session, policy): its network rules, for connections from now on. Throws where that fails. */
napi_value network_binding_update(napi_env env, napi_callback_info info);

/*
 * exposePort(session, port, done) → boolean. true: done(hostPort) is called later, once, with 0 where there
 * is no such port; false: there can be none.
 */
napi_value network_binding_expose(napi_env env, napi_callback_info info);

#endif
