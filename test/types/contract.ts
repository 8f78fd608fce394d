// The types of the package that this one replaces, and both ways of assigning.
import type { OsSandboxOptions, OsSandboxStatus } from "operon-os-sandbox";

export interface OriginalOptions {
  network?: {
    allowedDomains?: readonly string[];
    deniedDomains?: readonly string[];
    allowUnixSockets?: readonly string[];
    allowLocalBinding?: boolean;
    onAskHost?: (request: { host: string; port?: number }) => Promise<boolean>;
  };
  filesystem?: { denyRead?: readonly string[]; allowWrite?: readonly string[]; denyWrite?: readonly string[] };
  monitorViolations?: boolean;
  ignoreViolations?: Readonly<Record<string, readonly string[]>>;
}

export type OriginalStatus =
  | { enabled: true; platform: "darwin" | "linux"; warnings: readonly string[] }
  | { enabled: false; reason: string };

export const optionsHere: OsSandboxOptions = {} as OriginalOptions;
export const optionsThere: OriginalOptions = {} as OsSandboxOptions;
export const statusHere: OsSandboxStatus = {} as OriginalStatus;
export const statusThere: OriginalStatus = {} as OsSandboxStatus;
