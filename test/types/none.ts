// Without a core the classes are this package's own, and complete: nothing has become `any`.
import { LocalEnvironment, LocalMachine, OsSandbox, SandboxedLocalMachine } from "operon-os-sandbox";
import type { Machine, OsEnv } from "operon-os-sandbox";

export const kind: OsEnv["osKind"] = new LocalMachine().osEnv.osKind;
export const newer: OsEnv = new LocalEnvironment().osInfo;
export const grants: Machine = new SandboxedLocalMachine({ denyRead: [], denyWrite: [], allowWrite: [] }).withCwd("x");

// @ts-expect-error: not a member
OsSandbox.disabled().machine().nonsense;
// @ts-expect-error: not a member
new LocalMachine().nonsense;
