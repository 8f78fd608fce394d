'use strict';
// Real services on unix sockets of the host, each in a process that ends with its test.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { eventually } = require('./processes');

/**
 * Starts a program and waits for its socket.
 * @param {any} t
 * @param {string[]} argv
 * @param {string} socket
 */
async function startService(t, [command, ...args], socket) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (data) => (said += data));
  t.teardown(() => child.kill('SIGKILL'));
  await eventually(() => fs.existsSync(socket) || child.exitCode !== null);
  if (!fs.existsSync(socket)) throw new Error(`${command} does not serve: ${said}`);
  return { child, socket, said: () => said };
}

/** An ssh-agent with a key, which says what it is asked. @param {any} t @param {string} folder */
async function startSshAgent(t, folder) {
  const socket = path.join(folder, 'ssh-agent');
  const key = path.join(folder, 'key');
  const agent = await startService(t, ['ssh-agent', '-d', '-a', socket], socket);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'key-of-this-test', '-f', key]);
  execFileSync('ssh-add', ['-q', key], { env: { ...process.env, SSH_AUTH_SOCK: socket }, stdio: 'ignore' });
  return { ...agent, requests: () => agent.said().split('process_message').length - 1 };
}

/** A session bus. @param {any} t @param {string} folder */
async function startBus(t, folder) {
  const socket = path.join(folder, 'bus');
  const bus = await startService(t, ['dbus-daemon', '--session', '--nofork', `--address=unix:path=${socket}`], socket);
  return { ...bus, address: `unix:path=${socket}` };
}

/** A gpg-agent. Its home must have a short path. @param {any} t @param {string} folder */
async function startGpgAgent(t, folder) {
  const home = path.join(folder, 'gpg');
  fs.mkdirSync(home, { mode: 0o700 });
  const end = () => execFileSync('gpgconf', ['--homedir', home, '--kill', 'gpg-agent'], { stdio: 'ignore' });
  t.teardown(end);
  execFileSync('gpg-agent', ['--homedir', home, '--daemon'], { stdio: 'ignore' });
  const listed = execFileSync('gpgconf', ['--homedir', home, '--list-dirs', 'agent-socket'], { encoding: 'utf8' });
  return { socket: decodeURIComponent(listed.trim()), home };
}

/** A tmux server with a session. @param {any} t @param {string} folder */
function startTmux(t, folder) {
  const socket = path.join(folder, 'tmux');
  const tmux = (...args) => execFileSync('tmux', ['-f', '/dev/null', '-S', socket, ...args], { encoding: 'utf8' });
  t.teardown(() => tmux('kill-server'));
  tmux('new-session', '-d', '-s', 'session-of-this-test', 'sleep 600');
  return { socket, sessions: () => tmux('list-sessions') };
}

/** An HTTP server on a socket, which counts connections. @param {any} t @param {string} socket */
async function startHttp(t, socket) {
  const counts = { connections: 0 };
  const server = http.createServer((_, response) => response.end('{"ServerVersion":"27.0"}'));
  server.on('connection', () => counts.connections++);
  await new Promise((resolve) => server.listen(socket, () => resolve(undefined)));
  t.teardown(() => server.close());
  return { socket, counts };
}

/**
 * Servers of all three types, by test/fixtures/socket_servers.py, and who got through so far.
 * @param {any} t
 * @param {string} folder
 */
async function startServers(t, folder) {
  const program = path.join(__dirname, '..', 'fixtures', 'socket_servers.py');
  const service = await startService(t, ['python3', program, folder], path.join(folder, 'datagram'));
  await eventually(() => service.said().includes('ready'));
  const paths = ['stream', 'seqpacket', 'datagram'].map((name) => path.join(folder, name));
  const hits = () =>
    service
      .said()
      .split('\n')
      .filter((line) => line !== '' && line !== 'ready');
  return { paths, hits };
}

module.exports = { startBus, startGpgAgent, startHttp, startServers, startService, startSshAgent, startTmux };
