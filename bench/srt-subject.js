'use strict';

const { spawn } = require('node:child_process');

/** @param {readonly string[]} argv words without anything that a shell would take apart */
async function runWrapped(manager, argv, cwd) {
  // Its protected paths are looked for below the process's directory.
  process.chdir(cwd);
  const command = await manager.wrapWithSandbox(argv.join(' '));
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  let stdout = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  manager.cleanupAfterCommand();
  if (code !== 0) throw new Error(`srt: exit code ${code}: ${stderr.trim()}`);
  return { stdout };
}

/**
 * srt as its README shows it: wrap, spawn, clean up. One per process.
 * @param {{ cwd: string, entry: string, monitor?: boolean, allowedDomains?: string[] }} place monitor: its observer of violations
 */
async function openSrt({ cwd, entry, monitor = false, allowedDomains = ['example.com'] }) {
  const { SandboxManager } = await import(entry);
  const config = {
    network: { allowedDomains, deniedDomains: [] },
    filesystem: { denyRead: ['~/.ssh'], allowWrite: ['.', '/tmp', '/dev/shm'], denyWrite: ['.env'] },
  };
  await SandboxManager.initialize(config, undefined, monitor);
  return { run: (argv) => runWrapped(SandboxManager, argv, cwd), close: () => SandboxManager.reset() };
}

module.exports = { openSrt };
