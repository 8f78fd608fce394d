// The drop-in: where an agent made `new LocalMachine(cwd)`, it now asks a sandbox for one. With the framework
// installed beside this package the machine is an instance of the framework's own class, so that its tools and their
// `instanceof` see no difference.
import os from 'node:os';
import path from 'node:path';
import { LocalMachine, OsSandbox } from 'operon-os-sandbox';

const workspace = path.resolve(process.argv[2] ?? '.');

/** What an agent's bash tool does with the machine that it was given; it knows nothing of sandboxes. */
async function bashTool(machine, command) {
  let output = '';
  const onOutput = ({ data }) => (output += data);
  const argv = [machine.osEnv.shellPath, '-c', `cd '${machine.getcwd()}' && ${command}`];
  const { exitCode } = await machine.run(argv, { onOutput, timeoutMs: 60_000 });
  return { output, exitCode };
}

const sandbox = await OsSandbox.start();
const { status } = sandbox;
console.log(status.enabled ? `sandboxed on ${status.platform}` : `NOT sandboxed: ${status.reason}`);

const machine = sandbox.machine(workspace); // was: new LocalMachine(workspace)
console.log(`instanceof LocalMachine: ${machine instanceof LocalMachine}`);
const core = await import('operon-agents-core').catch(() => undefined);
if (core) console.log(`instanceof the framework's: ${machine instanceof (core.LocalMachine ?? core.LocalEnvironment)}`);

for (const command of ['echo hello > hello.txt && cat hello.txt', `echo hello > ${os.homedir()}/escaped.txt`]) {
  const { output, exitCode } = await bashTool(machine, command);
  console.log(`$ ${command}\n${output.trimEnd()}\n(exit code ${exitCode})`);
}

// A sibling, as for a worktree, is sandboxed as well: its folder is the one that it may write in.
await machine.mkdir(path.join(workspace, 'worktree'), { existOk: true });
const sibling = machine.withCwd('worktree');
for (const file of ['here', path.join(os.homedir(), 'escaped.txt')]) {
  const { exitCode } = await sibling.run(['touch', file]);
  console.log(`in ${sibling.getcwd()}: touch ${file} gives ${exitCode}`);
}
await sandbox.dispose();
