/// <reference lib="esnext.disposable" />

declare global {
  // Empty: merges with the declaration of @types/node or of lib.dom, and keeps this file whole where there is neither.
  interface AbortSignal {}
}

// ---- Options ---------------------------------------------------------------------------------------------------

/** A question about a connection that neither list of the network options decides. */
export interface NetworkAskRequest {
  /** A name in lower case and A-labels, or an address without brackets. */
  host: string;
  port?: number;
}

/**
 * What commands may reach; with none of them nothing. Patterns: `example.com` (that name alone), `*.example.com` (what
 * is below it, at any depth), `*` (every name, no address), an address, each with `:port` or without: any port. Names
 * with other letters than ASCII are written in A-labels (`xn--…`), IPv6 before a port in brackets. Denied beats allowed;
 * what neither decides is asked, or refused.
 */
export interface OsSandboxNetworkOptions {
  /**
   * A name is looked up outside once, when it was allowed. What it leads to must not be loopback, link-local, multicast,
   * a metadata service or an address of this host, unless an entry names that address; private ranges are open to it.
   * `localhost:5432` is this host's own port. A TLS connection must name the host that was allowed, in clear.
   */
  allowedDomains?: readonly string[];
  /** The same patterns; beats everything that allows. An address is closed to names that lead to it as well. */
  deniedDomains?: readonly string[];
  /**
   * What may be reached by address: `192.0.2.7`, `192.0.2.0/24`, `[2001:db8::/32]:443`, each with `:port` or without. Not
   * by TLS, unless it names a host that is allowed: a URL with an address names none. Nothing in 198.18.0.0/15, whose
   * addresses stand for names inside.
   */
  allowedIPs?: readonly string[];
  /**
   * Unix sockets of the host that a command may connect to: paths, folders, globs. Sockets that were made inside need
   * no grant.
   */
  allowUnixSockets?: readonly string[];
  /** Whether a port that a command listens on is opened on the host's 127.0.0.1 too, while it does. Default: false. */
  allowLocalBinding?: boolean;
  /**
   * Asked for what neither list decides, once for each host and port in a run; in the async context of `start()` or
   * `updateNetwork()`. Exactly `true` allows; anything else, a failure (a process warning, too), and five minutes without
   * an answer do not. Never asked for loopback, metadata services and their kind. The command chose the name.
   */
  onAskHost?: (request: NetworkAskRequest) => Promise<boolean>;
  /**
   * The HTTP proxy through which this host reaches the outside: `http://[user:password@]host[:port]`, or `direct` for
   * none. It is asked for CONNECT, to every port, and looks the names up itself. Default: the one that the environment of
   * this process names when the sandbox starts (HTTPS_PROXY, HTTP_PROXY); NO_PROXY holds for both.
   */
  upstreamProxy?: string;
  /** How many connections there can be at once, 1 to 65536; more are refused, as violations. Default: 1024. */
  maxTunnels?: number;
}

/**
 * Paths: absolute, `~`, `~/x`, or relative to the machine's cwd. An entry with one of `* ? [ ] { }` that no file is
 * named after is a glob, but in `allowWrite`.
 */
export interface OsSandboxFilesystemOptions {
  /** Neither readable nor writable by a command, whether it exists when the command starts or not. */
  denyRead?: readonly string[];
  /** Readable although it lies in a denied folder, or is denied by default, like `~/.ssh`. A denial of the same path, or inside, still holds. */
  allowRead?: readonly string[];
  /**
   * `deny`: readable are only the write roots, `allowRead`, and what programs need to start: system binaries and
   * libraries, CA certificates, name service and locale files, the node, python3 and git of the command's PATH.
   * Default: `allow`.
   */
  defaultRead?: "allow" | "deny";
  /** Write roots besides the cwd (see `writableCwd`), the additional directories and the temporary directories. No globs. */
  allowWrite?: readonly string[];
  /** Beats every grant, whether it exists when the command starts or not. */
  denyWrite?: readonly string[];
  /** Whether commands may change the configuration of git repositories (`git config`, `git remote add`). Hooks stay protected. Default: false. */
  allowGitConfig?: boolean;
  /** Protected names that commands may write all the same, as a project needs that tracks them: `[".vscode/"]`. Never hooks. */
  allowProtected?: readonly string[];
  /** Whether the machine's cwd and `~/.operon/tasks` are write roots by themselves. Default: true. */
  writableCwd?: boolean;
  /**
   * `true`: `/tmp` and `os.tmpdir()` are one fresh directory of the sandbox, shared by its commands and gone with it.
   * Write roots and `allowRead` entries below are the host's. Default: false.
   */
  privateTmp?: boolean;
  /**
   * `true`: commands have npm's cache (`npm_config_cache`, or `~/.npm`) as a copy of the sandbox's own, gone with it:
   * they read what the host has, and what they write stays with them. Default: false.
   */
  packageCache?: boolean;
}

/**
 * What each command may cost; whole numbers from 1. Absent: what this process itself may. Coming to one is reported as a
 * violation, where it is seen. See `guarantees.limits` for how they hold.
 */
export interface OsSandboxLimits {
  /** Of all its processes together with a cgroup; else of each, in memory of its own that it can write (RLIMIT_DATA). */
  memoryBytes?: number;
  /** Processes and threads at the same time; Node alone has about a dozen. Root's command is ended where it has more. */
  processes?: number;
  /** Of all its processes together. The command then gets SIGXCPU, and a second later SIGKILL. */
  cpuSeconds?: number;
  /** The size to which it can write any one file (RLIMIT_FSIZE). */
  fileBytes?: number;
  /** Descriptors of each process (RLIMIT_NOFILE). */
  openFiles?: number;
}

export interface OsSandboxOptions {
  network?: OsSandboxNetworkOptions;
  filesystem?: OsSandboxFilesystemOptions;
  limits?: OsSandboxLimits;
  /** What sandboxes: in this version bwrap, which `auto` chooses as well. Default: `auto`. */
  backend?: "auto" | "bwrap";
  /** Whether refused attempts are reported. Default: true. */
  monitorViolations?: boolean;
  /** Whether every refused read is reported too, at a cost of about 10 µs for each file that is opened. Default: false. */
  monitorReads?: boolean;
  /**
   * A file that violations are appended to, as lines of JSON: absolute, `~` or `~/x`. Commands cannot write in it; its
   * folder must exist. See `ViolationLogLine`.
   */
  violationLog?: string;
  /** Keys: `*` for every command, else a substring of the command. Values: substrings of the lines to leave out. */
  ignoreViolations?: Readonly<Record<string, readonly string[]>>;
}

// ---- Status ----------------------------------------------------------------------------------------------------

/** What holds on this host. */
export interface OsSandboxGuarantees {
  /** Writes end at the write roots, and denied paths are closed, by the kernel. */
  filesystem: "enforced";
  /** `session`: commands of one sandbox share a network of their own. `per-command`: each command has its own. */
  network: "session" | "per-command";
  /**
   * Which clients reach what is allowed. `proxy`: those that heed the proxy variables (HTTP_PROXY, …). `none`: there is
   * no network.
   */
  capture: "transparent" | "proxy" | "none";
  backend: "bwrap";
  /**
   * Whether protected and denied names are closed wherever they come to be. `existing-only`: those that are there when a
   * command starts, at the top of the write roots.
   */
  protectedNames: "enforced" | "existing-only";
  /** Whether connections to unix sockets of the host are held to `allowUnixSockets`. */
  unixSockets: "enforced" | "not-enforced";
  /** Whether refused attempts are reported: `none` also where `monitorViolations` is false. */
  violations: "reported" | "none";
  /** Whether a filter refuses system calls that no command needs: io_uring, keyrings, mounts, user namespaces, … */
  systemCalls: "filtered" | "unfiltered";
  /** Whether a command can make user namespaces inside the sandbox. */
  userNamespaces: "disabled" | "nested-allowed";
  /** `private`: only the sandbox's own processes. `host-read-only`: the outer /proc, where no fresh one can be mounted. */
  proc: "private" | "host-read-only";
  /**
   * There where `limits` are set. `cgroup`: memory, processes and processor time are the kernel's count of the whole
   * command. `rlimits`: memory is limited for each process; the other two are looked at every few milliseconds.
   */
  limits?: "cgroup" | "rlimits";
}

export type OsSandboxStatus =
  | { enabled: true; platform: "darwin" | "linux"; warnings: readonly string[]; guarantees?: OsSandboxGuarantees }
  | { enabled: false; reason: string };

// ---- Violations ------------------------------------------------------------------------------------------------

/** A refused attempt of a command: the first of its operation and its target in a run. Frozen. */
export interface Violation {
  type: "violation";
  /** `file-write-create`, `file-read-data`, `network-outbound`, … */
  operation: string;
  /** What a file operation was about; bytes that are not UTF-8 are `\xHH`. */
  path?: string;
  /** What a connection was about: a name, or an address without brackets. */
  host?: string;
  /** Absent where a name was looked up. */
  port?: number;
  why?: string;
  /** As the host sees it; 0: not known. */
  pid: number;
  /** The name of the process; empty where it had gone when a connection of its was refused. */
  process: string;
  /**
   * The same for all violations of one `run()`, different for any other of any sandbox. Without a `-` in it: a connection
   * of nobody knows which run of this sandbox.
   */
  run: string;
  /** ISO 8601, UTC, with milliseconds. */
  timestamp: string;
}

export interface CountedViolation extends Violation {
  /** How often it happened in its run: 1 until the run has ended. */
  count: number;
}

/** What the commands of one sandbox were refused, since its start or the last `clear()`. */
export interface SandboxViolations {
  /** The last 1,000, oldest first. */
  list(): CountedViolation[];
  readonly counts: ViolationCounts;
  clear(): void;
}

export interface ViolationCounts {
  /** How many there were, in the list or not. */
  events: number;
  /** Refused attempts: events with their repetitions, and dropped ones. Repetitions are known when a run has ended. */
  attempts: number;
  /** Attempts of which no event tells, because a run made too many. */
  dropped: number;
}

/**
 * A line of `violationLog`: a violation as it happens; at the end of its run how often it happened, if more than once;
 * and, where lines are missing, how many: of one run, where it made too many, else of the log, where it could not be
 * written.
 */
export type ViolationLogLine =
  | Violation
  | (Omit<CountedViolation, "type"> & { type: "count" })
  | { type: "dropped"; run?: string; count: number; timestamp: string };

// ---- Explanations ----------------------------------------------------------------------------------------------

/** The option that decided, and its entry: `filesystem.denyRead`, 1, `~/secrets`. */
export interface ExplainedRule {
  option: string;
  index: number;
  entry: string;
}

export interface ExplainedAccess {
  allowed: boolean;
  /** A denial in the words of its violation; `the host's own permissions` where no rule is in the way. */
  why: string;
  /** Absent where a default decided. */
  rule?: ExplainedRule;
  /** The path that the rule holds for, with all below it; of a protected name that name, as `allowProtected` takes it. */
  at?: string;
}

export type Explanation =
  | {
      target: string;
      kind: "path";
      /** Absolute, as written. */
      path: string;
      /** Where its symlinks lead, which is what counts; absent in /dev and /proc, and where the sandbox is off. */
      resolved?: string;
      exists: boolean;
      /** Of what is not there: whether it could be read if it came. Of a folder: whether it can be listed. */
      read: ExplainedAccess;
      /** Of what is not there: whether it can be made, with the folders on its way. Of a folder: whether something can be made in it. */
      write: ExplainedAccess;
      /** Of unix sockets, and of paths that `allowUnixSockets` has. */
      connect?: ExplainedAccess;
    }
  | {
      target: string;
      kind: "host";
      host: string;
      port?: number;
      reach: {
        /** `"ask"`: `onAskHost` is asked. Of a name the address that it leads to is checked later, when it is connected to. */
        allowed: boolean | "ask";
        why: string;
        rule?: ExplainedRule;
        /** Where no port was asked about and it does not hold for all: for these alone, */
        ports?: number[];
        /** or for all but these. */
        exceptPorts?: number[];
      };
    };

// ---- Machines --------------------------------------------------------------------------------------------------

/** A cwd, or a cwd and more directories to grant. Default: `process.cwd()`. */
export type MachineLocation = string | { cwd?: string; additionalDirs?: readonly string[] };

export interface RunOptions {
  /** Relative to the machine's cwd. */
  cwd?: string;
  /** On top of the whole environment of this process. */
  env?: Record<string, string>;
  /** Written as UTF-8, then end of file. Absent: end of file at once. */
  stdin?: string;
  timeoutMs?: number;
  /** For each of the two streams, in bytes. */
  maxOutputBytes?: number;
  signal?: AbortSignal;
  onOutput?: (chunk: { stream: "stdout" | "stderr"; data: string }) => void;
}

export interface RunResult {
  stdout: string;
  /** In a sandbox: followed by a block `<sandbox_violations>` where something was refused. */
  stderr: string;
  /** 128 + n for death by signal n, 127 for a program not found, undefined when timed out or aborted before the start. */
  exitCode: number | undefined;
  timedOut: boolean;
  /** Whether either stream was cut at `maxOutputBytes`. */
  truncated: boolean;
  /** Whether the command is gone; false only where something outlives SIGKILL. */
  terminated: boolean;
}

export type FileKind = "file" | "dir" | "symlink" | "other";

export interface FileInfo {
  kind: FileKind;
  size: number;
  mtimeMs?: number;
}

export interface DirEntry {
  name: string;
  kind: FileKind;
}

export interface OsEnv {
  osKind: "Linux" | "Darwin" | "Windows";
  osArch: string;
  osVersion: string;
  shellName: string;
  shellPath: string;
}

export interface WriteTextOptions {
  encoding?: "utf-8" | "utf8" | "utf16le" | "latin1";
  /** `CRLF` turns every line ending into CRLF. */
  lineEndings?: "LF" | "CRLF";
}

/** The version of a file, as last seen. */
export interface FileVersion {
  mtimeMs?: number;
}

export interface WriteIfUnchangedOptions extends WriteTextOptions {
  expected: FileVersion | "must-not-exist";
  /** Decides where the time of the last change does not. */
  expectedContent?: string;
}

/** What this package's own machines do. */
interface OwnMachine {
  readonly name: string;
  readonly osEnv: OsEnv;
  /** The second generation's name for `osEnv`. */
  readonly osInfo: OsEnv;
  pathClass(): "posix" | "win32";
  normpath(path: string): string;
  gethome(): string;
  /** As given to the constructor. */
  getcwd(): string;
  additionalDirs(): readonly string[];
  /** A sibling of the same class with the same grants; does not touch the disk. */
  withCwd(path: string): OwnMachine;
  fileInfo(path: string, options?: { followSymlinks?: boolean }): Promise<FileInfo>;
  listDir(path: string): Promise<DirEntry[]>;
  realpath(path: string): Promise<string>;
  mkdir(path: string, options?: { parents?: boolean; existOk?: boolean }): Promise<void>;
  readBytes(path: string, window?: { offset?: number; length?: number }): Promise<Uint8Array>;
  writeBytes(path: string, bytes: Uint8Array): Promise<void>;
  writeText(path: string, text: string, options?: WriteTextOptions): Promise<{ bytesWritten: number }>;
  /** Rejects with FileExistsError or StaleFileError, and then has written nothing. */
  writeTextIfUnchanged(
    path: string,
    text: string,
    options: WriteIfUnchangedOptions,
  ): Promise<{ bytesWritten: number; version: FileVersion }>;
  /** Starts `argv` unexpanded; rejects only where nothing could be started for a reason of the caller's or the sandbox's. */
  run(argv: readonly string[], options?: RunOptions): Promise<RunResult>;
  /**
   * A URL on this host's 127.0.0.1 that reaches a port on which a command listens, now or later; with the same number
   * where that is free. It is open to every user of the host until the sandbox is disposed. Undefined for what is no
   * port, for more than 256 of them, and where commands have no network of the sandbox's.
   */
  exposedPortUrl?(port: number): Promise<string | undefined>;
}

/** All of the interface, by declaration merging. */
interface OwnLocalMachine extends OwnMachine {
  withCwd(path: string): this;
  exposedPortUrl(port: number): Promise<string | undefined>;
}
declare class OwnLocalMachine {
  constructor(cwdOrOptions?: MachineLocation);
  /** From SIGTERM to SIGKILL. */
  protected sigtermGraceMs: number;
}

declare class OwnFileExistsError extends Error {
  readonly code: "FILE_ALREADY_EXISTS";
}

declare class OwnStaleFileError extends Error {
  readonly code: "FILE_MODIFIED_SINCE_READ";
}

// ---- The framework's core, where it is installed ---------------------------------------------------------------
// An import type is an error, here ignored, where the core or the name in it is missing. It then has every key.

// @ts-ignore
type Core = typeof import("operon-agents-core", { with: { "resolution-mode": "import" } });
// @ts-ignore
type CoreMachine = import("operon-agents-core", { with: { "resolution-mode": "import" } }).Machine;
// @ts-ignore
type CoreEnvironment = import("operon-agents-core", { with: { "resolution-mode": "import" } }).Environment;

type IsMissing<T> = string extends keyof T ? true : unknown extends T ? true : false;
type Known<T, Else> = IsMissing<T> extends true ? Else : T;
type Member<Name extends string> = IsMissing<Core> extends true ? unknown : Core extends { [K in Name]: infer Found } ? Found : unknown;

type LocalMachineClass = Known<Member<"LocalMachine">, Known<Member<"LocalEnvironment">, typeof OwnLocalMachine>>;
type LocalEnvironmentClass = Known<Member<"LocalEnvironment">, LocalMachineClass>;
type FileExistsErrorClass = Known<Member<"FileExistsError">, typeof OwnFileExistsError>;
type StaleFileErrorClass = Known<Member<"StaleFileError">, typeof OwnStaleFileError>;

/** The framework's Machine (or Environment) where it is installed, else this package's own, which has the same members. */
export type Machine = Known<CoreMachine, Known<CoreEnvironment, OwnMachine>>;
/** The second generation's name. */
export type Environment = Known<CoreEnvironment, Machine>;

/** The framework's class where it is installed, else this package's own, which behaves the same. */
export declare const LocalMachine: LocalMachineClass;
export type LocalMachine = InstanceType<LocalMachineClass>;
/** The second generation's name. */
export declare const LocalEnvironment: LocalEnvironmentClass;
export type LocalEnvironment = InstanceType<LocalEnvironmentClass>;

/** `writeTextIfUnchanged` found a file that must not exist. */
export declare const FileExistsError: FileExistsErrorClass;
export type FileExistsError = InstanceType<FileExistsErrorClass>;
/** `writeTextIfUnchanged` found another version than the expected one. */
export declare const StaleFileError: StaleFileErrorClass;
export type StaleFileError = InstanceType<StaleFileErrorClass>;

// ---- The sandbox -----------------------------------------------------------------------------------------------

/** The file rules of one machine; `SandboxedLocalMachine` takes any part of them. */
export interface SandboxPolicyContext {
  denyRead: readonly string[];
  denyWrite: readonly string[];
  allowWrite: readonly string[];
}

/** Runs its commands in the oldest living OsSandbox, with the file rules given here. */
export declare class SandboxedLocalMachine extends LocalMachine {
  constructor(policy: Partial<SandboxPolicyContext> & OsSandboxFilesystemOptions, cwdOrOptions?: MachineLocation);
}

/** The second generation's name. */
export declare class SandboxedLocalEnvironment extends LocalEnvironment {
  constructor(policy: Partial<SandboxPolicyContext> & OsSandboxFilesystemOptions, cwdOrOptions?: MachineLocation);
}

export declare class OsSandbox {
  private constructor();
  /** Never rejects for reasons of the host: see `status`. Rejects with a TypeError that names the option where options make no sense. */
  static start(options?: OsSandboxOptions): Promise<OsSandbox>;
  /** A sandbox that is off: its machines are plain LocalMachines. */
  static disabled(reason?: string): OsSandbox;
  readonly status: OsSandboxStatus;
  /** Stays empty where the sandbox is off. */
  readonly violations: SandboxViolations;
  /** Listens as with an EventEmitter. A listener that fails becomes a process warning; none keeps the process alive. */
  on(event: "violation", listener: (violation: Violation) => unknown): this;
  once(event: "violation", listener: (violation: Violation) => unknown): this;
  off(event: "violation", listener: (violation: Violation) => unknown): this;
  machine(cwdOrOptions?: MachineLocation): Machine;
  /** The second generation's name. */
  environment(cwdOrOptions?: MachineLocation): Environment;
  /**
   * Whether commands of a machine at that place may read, write or reach it, as things are now, and which rule says so:
   * in the order of the targets. What has a `/` in it or begins with `~` or `.` is a path, relative to the machine's cwd;
   * a URL, or anything else, is a host: HOST, HOST:PORT. No name is looked up. Rejects with a TypeError for what is
   * neither, and as `run()` where the rules cannot be resolved.
   */
  explain(targets: string | readonly string[], cwdOrOptions?: MachineLocation): Promise<Explanation[]>;
  /**
   * Replaces the network options: all of them, at once, for connections and commands from now on; open connections go
   * on. `upstreamProxy` is the one exception: it stays as it was. Rejects with a TypeError for what `start()` would not
   * take, and then nothing has changed. Does nothing where the sandbox is off.
   */
  updateNetwork(network?: OsSandboxNetworkOptions): Promise<void>;
  /** Ends every run; can be called again. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// ---- Words of a command ----------------------------------------------------------------------------------------

export interface SrtInvocation {
  command: string;
  binShell: string;
}

/** A shell triple gives its script and its shell; other words are quoted and joined for the fallback shell. */
export declare function toSrtInvocation(argv: readonly string[], fallbackShell: string): SrtInvocation;

/** Bare where every character is safe, else in single quotes. */
export declare function shellQuoteArg(value: string): string;

export {};
