'use strict';
// An agent loop with a person in it. The "model" here is a list of commands; what it is told back is what a real one
// would read: the command's output, and behind it what was refused and why. The person is asked on this terminal for
// hosts that no rule names, and for folders outside the workspace; "y" grants, anything else does not.

const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { OsSandbox } = require('..');

const COMMANDS = [
  'echo "# Notes" > notes.md && ls',
  'curl -sS -o /dev/null -w "%{http_code}\\n" http://packages.example.com/',
  'curl -sS -o /dev/null -w "%{http_code}\\n" http://telemetry.example.com/',
  'echo "a report" > ../reports/report.txt',
];

/** One question at a time; the end of the input is a "no" to all that follow. */
function startPerson() {
  const lines = readline.createInterface({ input: process.stdin });
  const answers = lines[Symbol.asyncIterator]();
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  const ask = async (question) => {
    process.stdout.write(`${question} [y/N] `);
    const { value = '' } = await answers.next();
    if (!process.stdin.isTTY) process.stdout.write(`${value}\n`);
    return value.trim().toLowerCase() === 'y';
  };
  return {
    /** @param {string} question @returns {Promise<boolean>} */
    approves: (question) => {
      const answer = last.then(() => ask(question));
      last = answer;
      return answer;
    },
    leave: () => lines.close(),
  };
}

/** Runs one command; where a write was refused outside the workspace, the person may grant its folder for another try. */
async function step(sandbox, person, workspace, command) {
  const folders = new Set();
  const note = ({ operation, path: file, why = '' }) => {
    if (operation.startsWith('file-write') && why.startsWith('outside the write roots')) folders.add(path.dirname(file));
  };
  const shell = ['bash', '-c', command];
  sandbox.on('violation', note);
  let result = await sandbox.machine(workspace).run(shell);
  sandbox.off('violation', note);
  const granted = [];
  for (const folder of folders) if (await person.approves(`Let this command write in ${folder}?`)) granted.push(folder);
  if (granted.length > 0) result = await sandbox.machine({ cwd: workspace, additionalDirs: granted }).run(shell);
  return result;
}

async function main() {
  // Not below /tmp: that is a place where every command may write.
  const base = fs.mkdtempSync('/var/tmp/os-sandbox-approval-');
  const workspace = path.join(base, 'workspace');
  for (const folder of [workspace, path.join(base, 'reports')]) fs.mkdirSync(folder);

  const person = startPerson();
  const sandbox = await OsSandbox.start({
    network: {
      deniedDomains: ['telemetry.example.com'],
      // The command chose the name: show it, and nothing that it could be taken for.
      onAskHost: ({ host, port }) => person.approves(`Let this command reach ${host}${port === undefined ? '' : `:${port}`}?`),
    },
  });
  try {
    if (!sandbox.status.enabled) throw new Error(`commands would run unsandboxed: ${sandbox.status.reason}`);
    for (const command of COMMANDS) {
      console.log(`\n$ ${command}`);
      const { stdout, stderr, exitCode } = await step(sandbox, person, workspace, command);
      console.log(`${stdout}${stderr}`.trimEnd());
      console.log(`(exit code ${exitCode})`);
    }
  } finally {
    await sandbox.dispose();
    person.leave();
    fs.rmSync(base, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
