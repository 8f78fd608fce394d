'use strict';

const { spawn } = require('node:child_process');

/** @param {readonly string[]} argv words without anything that a shell would take apart */
async function runWrapped(manager, argv, cwd) {
  // Its protected paths are looked for below the process's directory.
  process.chdir(cwd);
  const command = await manager.wrapWithSandbox(argv.join(' '));
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stdout.resume();
  child.stderr.on('data', (data) => (stderr += data));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  manager.cleanupAfterCommand();
  if (code !== 0) throw new Error(`srt: exit code ${code}: ${stderr.trim()}`);
}

/** srt as its README shows it: wrap, spawn, clean up. One per process. @param {{ cwd: string, entry: string }} place */
async function openSrt({ cwd, entry }) {
  const { SandboxManager } = await import(entry);
  await SandboxManager.initialize({
    network: { allowedDomains: ['example.com'], deniedDomains: [] },
    filesystem: { denyRead: ['~/.ssh'], allowWrite: ['.', '/tmp'], denyWrite: ['.env'] },
  });
  return { run: (argv) => runWrapped(SandboxManager, argv, cwd), close: () => SandboxManager.reset() };
}

module.exports = { openSrt };
