// What every consumer may write, with a core of either generation or with none.
import { LocalEnvironment, LocalMachine, OsSandbox, SandboxedLocalEnvironment, SandboxedLocalMachine } from "operon-os-sandbox";
import { FileExistsError, StaleFileError, shellQuoteArg, toSrtInvocation } from "operon-os-sandbox";
import type {
  CountedViolation,
  DirEntry,
  ExplainedAccess,
  ExplainedRule,
  Explanation,
  Environment,
  FileInfo,
  Machine,
  NetworkAskRequest,
  OsSandboxFilesystemOptions,
  OsSandboxGuarantees,
  OsSandboxLimits,
  OsSandboxNetworkOptions,
  OsSandboxOptions,
  OsSandboxStatus,
  RunOptions,
  RunResult,
  SandboxPolicyContext,
  SandboxViolations,
  SrtInvocation,
  Violation,
  ViolationCounts,
  ViolationLogLine,
} from "operon-os-sandbox";

export async function everything(): Promise<RunResult> {
  const network: OsSandboxNetworkOptions = { allowedDomains: ["*.example.com"], onAskHost: async (request: NetworkAskRequest) => request.port === 443, allowedIPs: ["192.0.2.0/24:443"], upstreamProxy: "direct", maxTunnels: 64 };
  const filesystem: OsSandboxFilesystemOptions = { denyRead: ["~/secrets"] as const, defaultRead: "deny", allowRead: ["~/.ssh/known_hosts"], allowGitConfig: true, allowProtected: [".vscode/"] };
  const limits: OsSandboxLimits = { memoryBytes: 2 ** 31, processes: 200, cpuSeconds: 60, fileBytes: 1e9, openFiles: 512 };
  const options: OsSandboxOptions = { network, filesystem, limits, monitorViolations: false, ignoreViolations: { "*": ["/dev/tty"] }, monitorReads: true, violationLog: "~/violations.jsonl" };
  await using sandbox = await OsSandbox.start(options);

  const status: OsSandboxStatus = sandbox.status;
  const guarantees: OsSandboxGuarantees | undefined = status.enabled ? status.guarantees : undefined;
  const notes: readonly string[] = status.enabled ? status.warnings : [status.reason, guarantees?.network ?? "", guarantees?.capture ?? "none"];
  await sandbox.updateNetwork({ ...network, allowedDomains: [] });
  await sandbox.updateNetwork();

  const explanations: Explanation[] = await sandbox.explain(["~/.ssh", "api.example.com:443"], { cwd: "/srv/project" });
  const [one] = await sandbox.explain("/etc/hosts");
  const access: ExplainedAccess | undefined = one?.kind === "path" ? one.connect ?? one.write : undefined;
  const rule: ExplainedRule | undefined = access?.rule ?? explanations.flatMap((each) => (each.kind === "host" && each.reach.allowed !== "ask" ? each.reach.rule ?? [] : []))[0];
  void rule?.entry;

  const machine: Machine = sandbox.machine({ cwd: "/srv/project", additionalDirs: notes });
  const environment: Environment = sandbox.environment("/srv/project");
  const info: FileInfo = await machine.fileInfo("a", { followSymlinks: false });
  const entries: DirEntry[] = await environment.listDir("/srv/project");
  const bytes: Uint8Array = await machine.readBytes("a", { offset: 0, length: info.size });
  await machine.writeBytes("b", bytes);
  const { version } = await machine.writeTextIfUnchanged("a", entries[0]?.name ?? "", { expected: "must-not-exist" });

  const running: RunOptions = { cwd: ".", env: { A: "1" }, stdin: "", timeoutMs: version.mtimeMs, onOutput: ({ stream, data }) => void [stream, data] };
  const result: RunResult = await machine.withCwd("sub").run(["true"], running);
  const url: string | undefined = await sandbox.machine().exposedPortUrl?.(8080);
  await OsSandbox.disabled(url).dispose();
  return result;
}

export class Mine extends SandboxedLocalMachine {
  grace(): number {
    return this.sigtermGraceMs;
  }
}

const policy: SandboxPolicyContext = { denyRead: [], denyWrite: [], allowWrite: [] };
export const machines: LocalMachine[] = [new Mine(policy), new SandboxedLocalMachine(policy, "/srv"), new LocalMachine({ cwd: "/srv" })];
export const environments: LocalEnvironment[] = [new SandboxedLocalEnvironment(policy, { additionalDirs: [] })];
export const invocation: SrtInvocation = toSrtInvocation(["echo", shellQuoteArg("a b")], "/bin/sh");
export const why = (violation: Violation): string => violation.why ?? violation.operation;
export const log = (line: ViolationLogLine): number => (line.type === "violation" ? line.pid : line.count);

export function listen(sandbox: OsSandbox): number {
  const listener = async ({ path, host, port }: Violation): Promise<unknown> => path ?? [host, port];
  const chained: OsSandbox = sandbox.on("violation", listener).once("violation", why).off("violation", listener);
  const violations: SandboxViolations = chained.violations;
  const listed: CountedViolation[] = violations.list();
  const { events, attempts, dropped }: ViolationCounts = violations.counts;
  violations.clear();
  return listed.reduce((sum, { count }) => sum + count, attempts - events - dropped);
}

export function holds(sandbox: OsSandbox): boolean {
  const guarantees = sandbox.status.enabled ? sandbox.status.guarantees : undefined;
  return guarantees?.unixSockets === "enforced" && guarantees.protectedNames === "enforced" && guarantees.violations === "reported" && guarantees.systemCalls === "filtered";
}

export function code(error: unknown): string | undefined {
  const exists: "FILE_ALREADY_EXISTS" | undefined = error instanceof FileExistsError ? error.code : undefined;
  const stale: "FILE_MODIFIED_SINCE_READ" | undefined = error instanceof StaleFileError ? error.code : undefined;
  return exists ?? stale;
}

// @ts-expect-error: only start() and disabled() make one
new OsSandbox();
// @ts-expect-error: a misspelt option
OsSandbox.start({ filesystem: { denyReads: [] } });
// @ts-expect-error: reads are allowed or denied by default
OsSandbox.start({ filesystem: { defaultRead: "none" } });
// @ts-expect-error: the only event is "violation"
OsSandbox.disabled().on("violations", () => {});
// @ts-expect-error: an event has no count, it is told when it happens
OsSandbox.disabled().on("violation", ({ count }) => count);
// @ts-expect-error: a list is a list
OsSandbox.start({ network: { allowedDomains: "example.com" } });
// @ts-expect-error: the policy is not optional
new SandboxedLocalMachine();
// @ts-expect-error: not every key has a reason
OsSandbox.disabled().status.reason;
