'use strict';
// What a sandboxed machine allows and what it refuses, shown with real commands. Exits 1 if one line is not so.

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { OsSandbox } = require('..');

let failures = 0;

/** One readable line: what was tried, what came of it, and whether that is as it should be. */
function report(asExpected, what, outcome) {
  if (!asExpected) failures += 1;
  console.log(`${asExpected ? '✓' : '✗'} ${what.padEnd(44)} ${outcome}`);
}

/** What a command was refused with, in its own words: the end of its last line on stderr. */
const words = (stderr) => stderr.trim().split(': ').pop();

function reportDenied(refused, what, outcome) {
  report(refused, what, refused ? `denied (${outcome})` : 'NOT DENIED');
}

/** A real server on the host's loopback that counts who reaches it. */
async function startServer() {
  const state = { connections: 0 };
  const server = net.createServer((socket) => {
    state.connections += 1;
    socket.end('hello\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  return { state, port, close: () => server.close() };
}

async function showFiles(machine, { workspace, outside, secrets }) {
  const shell = (script) => machine.run(['bash', '-c', script]);

  const allowed = path.join(workspace, 'notes.txt');
  const write = await shell(`echo hello > ${allowed}`);
  const written = fs.existsSync(allowed) ? fs.readFileSync(allowed, 'utf8') : '';
  report(write.exitCode === 0 && written === 'hello\n', 'write inside the workspace', `exit code ${write.exitCode}`);

  const denied = path.join(outside, 'escaped.txt');
  const escape = await shell(`echo hello > ${denied}`);
  reportDenied(escape.exitCode !== 0 && !fs.existsSync(denied), 'write outside of it', words(escape.stderr));

  const secret = path.join(secrets, 'token');
  const read = await shell(`cat ${secret}`);
  reportDenied(read.exitCode !== 0 && read.stdout === '', 'read from a folder in denyRead', words(read.stderr));
}

async function showNetwork(machine) {
  const server = await startServer();
  try {
    const result = await machine.run(['bash', '-c', `cat < /dev/tcp/127.0.0.1/${server.port}`]);
    const refused = result.exitCode !== 0 && server.state.connections === 0;
    const seen = `${words(result.stderr)}, the server saw ${server.state.connections} connections`;
    reportDenied(refused, `connect to the host's 127.0.0.1:${server.port}`, seen);
  } finally {
    server.close();
  }
}

async function showExitCodes(machine) {
  const cases = [
    { argv: ['true'], code: 0, what: 'a command that succeeds' },
    { argv: ['bash', '-c', 'exit 3'], code: 3, what: 'a command that exits with 3' },
    { argv: ['no-such-program'], code: 127, what: 'a program that does not exist' },
    { argv: ['bash', '-c', 'kill -TERM $$'], code: 143, what: 'a command that dies of SIGTERM (15)' },
  ];
  for (const { argv, code, what } of cases) {
    const { exitCode } = await machine.run(argv);
    report(exitCode === code, what, `exit code ${exitCode}`);
  }
}

async function main() {
  // Not below /tmp: that is a place where every command may write.
  const base = fs.mkdtempSync('/var/tmp/os-sandbox-demo-');
  const places = {
    workspace: path.join(base, 'workspace'),
    outside: path.join(base, 'outside'),
    secrets: path.join(base, 'secrets'),
  };
  for (const folder of Object.values(places)) fs.mkdirSync(folder);
  fs.writeFileSync(path.join(places.secrets, 'token'), 'very secret\n');

  const sandbox = await OsSandbox.start({ filesystem: { denyRead: [places.secrets] } });
  try {
    if (!sandbox.status.enabled) {
      report(false, 'start the sandbox', sandbox.status.reason);
      return;
    }
    report(true, 'start the sandbox', `enabled on ${sandbox.status.platform}`);
    for (const warning of sandbox.status.warnings) console.log(`  warning: ${warning}`);

    const machine = sandbox.machine(places.workspace);
    await showFiles(machine, places);
    await showNetwork(machine);
    await showExitCodes(machine);
  } finally {
    await sandbox.dispose();
    fs.rmSync(base, { recursive: true, force: true });
  }
}

main()
  .then(() => console.log(failures === 0 ? '\nEverything as promised.' : `\n${failures} not as promised.`))
  .catch((error) => {
    failures += 1;
    console.error(error);
  })
  .finally(() => {
    process.exitCode = failures === 0 ? 0 : 1;
  });
