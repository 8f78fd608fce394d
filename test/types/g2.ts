// With a core of the second generation the classes are the core's, under both names.
import type * as core from "operon-agents-core" with { "resolution-mode": "import" };
import { LocalEnvironment, LocalMachine, OsSandbox, SandboxedLocalEnvironment, SandboxedLocalMachine, StaleFileError } from "operon-os-sandbox";

const policy = { denyRead: [], denyWrite: [], allowWrite: [] };
export const same: typeof core.LocalEnvironment = LocalEnvironment;
export const older: typeof core.LocalEnvironment = LocalMachine;
export const error: typeof core.StaleFileError = StaleFileError;
export const generations: (2 | undefined)[] = [new SandboxedLocalEnvironment(policy).generation, new SandboxedLocalMachine(policy).generation];
export const environment: core.Environment = OsSandbox.disabled().environment();
export const machine: core.Environment = OsSandbox.disabled().machine();

// @ts-expect-error: not a member
OsSandbox.disabled().environment().nonsense;
// @ts-expect-error: the second generation has no such member
new LocalEnvironment().osEnv;
