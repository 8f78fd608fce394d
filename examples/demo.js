'use strict';
// What a sandboxed machine allows and what it refuses, shown with real commands. Exits 1 if one line is not so.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { OsSandbox } = require('..');

let failures = 0;

/** One readable line: what was tried, what came of it, and whether that is as it should be. */
function report(asExpected, what, outcome) {
  if (!asExpected) failures += 1;
  console.log(`${asExpected ? '✓' : '✗'} ${what.padEnd(44)} ${outcome}`);
}

/** A command's own words, and what the sandbox says behind them. */
function parts(stderr) {
  const [own, block = ''] = stderr.split('\n<sandbox_violations>\n');
  return { own, denials: block.split('\n').filter((line) => line.startsWith('deny ')) };
}

/** What a command was refused with, in its own words: the end of its last line on stderr. */
const words = (stderr) => parts(stderr).own.trim().split(': ').pop();

function reportDenied(refused, what, outcome, denials = []) {
  report(refused, what, refused ? `denied (${outcome})` : 'NOT DENIED');
  for (const denial of denials) console.log(`    ${denial}`);
}

/** A real server that counts who reaches it. @param {string | { port: number, host: string }} where */
async function startServer(where) {
  const state = { connections: 0 };
  const server = net.createServer((socket) => {
    state.connections += 1;
    socket.end('hello\n');
  });
  await new Promise((resolve) => server.listen(where, () => resolve(undefined)));
  return { state, address: /** @type {any} */ (server.address()), close: () => server.close() };
}

async function showFiles(machine, { workspace, outside, secrets }, isTold) {
  const shell = (script) => machine.run(['bash', '-c', script]);

  const allowed = path.join(workspace, 'notes.txt');
  const write = await shell(`echo hello > ${allowed}`);
  const written = fs.existsSync(allowed) ? fs.readFileSync(allowed, 'utf8') : '';
  report(write.exitCode === 0 && written === 'hello\n', 'write inside the workspace', `exit code ${write.exitCode}`);

  const denied = path.join(outside, 'escaped.txt');
  const escape = await shell(`echo hello > ${denied}`);
  const told = parts(escape.stderr).denials;
  const kept = escape.exitCode !== 0 && !fs.existsSync(denied);
  reportDenied(kept && told.length === (isTold ? 1 : 0), 'write outside of it, and be told why', words(escape.stderr), told);

  // Where nobody can tell what was refused, nobody holds names either (README, "What holds on a host").
  if (isTold) {
    const tasks = path.join(workspace, 'deep/.vscode');
    const made = await shell(`mkdir -p ${tasks}`);
    const refused = made.exitCode !== 0 && !fs.existsSync(tasks);
    reportDenied(refused, 'make what an editor would run', words(made.stderr), parts(made.stderr).denials);
  }

  const secret = path.join(secrets, 'token');
  const read = await shell(`cat ${secret}`);
  const hidden = read.exitCode !== 0 && read.stdout === '';
  reportDenied(hidden, 'read from a folder in denyRead', words(read.stderr), parts(read.stderr).denials);
}

async function showUnixSockets(machine, { outside }) {
  const server = await startServer(path.join(outside, 'docker.sock'));
  try {
    const script = `require('net').connect('${server.address}')`;
    const result = await machine.run([process.execPath, '-e', script]);
    const refused = result.exitCode !== 0 && server.state.connections === 0;
    const seen = `the server saw ${server.state.connections} connections`;
    reportDenied(refused, "connect to the host's docker.sock", seen, parts(result.stderr).denials);
  } finally {
    server.close();
  }
}

async function showNetwork(machine) {
  const server = await startServer({ port: 0, host: '127.0.0.1' });
  const { port } = server.address;
  try {
    const result = await machine.run(['bash', '-c', `cat < /dev/tcp/127.0.0.1/${port}`]);
    const refused = result.exitCode !== 0 && server.state.connections === 0;
    const seen = `${words(result.stderr)}, the server saw ${server.state.connections} connections`;
    reportDenied(refused, `connect to the host's 127.0.0.1:${port}`, seen);
  } finally {
    server.close();
  }
}

/** Asks the proxy that a command finds in its environment, and prints the status and what came. @param {string} url */
const getScript = (url) => `
  const { hostname, port } = new URL(process.env.http_proxy);
  require('http').get({ hostname, port, path: '${url}', headers: { host: '${new URL(url).host}' } }, (reply) => {
    process.stdout.write(reply.statusCode + ' ');
    reply.pipe(process.stdout);
  });`;

async function showRules(sandbox, machine) {
  const server = http.createServer((_, response) => response.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const allowed = `localhost:${/** @type {any} */ (server.address()).port}`;
  await sandbox.updateNetwork({ allowedDomains: [allowed] });
  const get = (host) => machine.run([process.execPath, '-e', getScript(`http://${host}/`)]);
  try {
    const reached = await get(allowed);
    report(reached.stdout === '200 hello', `reach the host's ${allowed} by a rule`, reached.stdout);
    const { stdout, stderr } = await get('www.example.com');
    reportDenied(stdout.startsWith('403 '), 'reach www.example.com without one', stdout.split('\n')[0], parts(stderr).denials);
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
    const { guarantees } = sandbox.status;
    await showFiles(machine, places, guarantees?.violations === 'reported');
    await showNetwork(machine);
    if (guarantees?.capture !== 'none') await showRules(sandbox, machine);
    if (guarantees?.unixSockets === 'enforced') await showUnixSockets(machine, places);
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
