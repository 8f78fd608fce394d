// With a core of the first generation the classes are the core's.
import type * as core from "operon-agents-core" with { "resolution-mode": "import" };
import { LocalEnvironment, LocalMachine, OsSandbox, FileExistsError, SandboxedLocalMachine } from "operon-os-sandbox";

export const same: typeof core.LocalMachine = LocalMachine;
export const both: typeof core.LocalMachine = LocalEnvironment;
export const error: typeof core.FileExistsError = FileExistsError;
export const generation: 1 | undefined = new SandboxedLocalMachine({ denyRead: [], denyWrite: [], allowWrite: [] }).generation;
export const machine: core.Machine = OsSandbox.disabled().machine();
export const environment: core.Machine = OsSandbox.disabled().environment();

// @ts-expect-error: not a member
OsSandbox.disabled().machine().nonsense;
// @ts-expect-error: the first generation has no such member
new LocalMachine().osInfo;
