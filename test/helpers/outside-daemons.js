'use strict';
// Real servers in the tests' internet, each on its usual port of every address: they end with the internet.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { repository } = require('./outside-web');

const AS_ROOT = process.getuid() === 0;
const NOBODY = 65534;

/** Starts a server and waits until a connection to its port succeeds. @param {string[]} argv @param {number} port */
async function daemon([command, ...args], port, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  child.on('error', (error) => (said += error));
  for (const deadline = Date.now() + 15_000; Date.now() < deadline; await sleep(20)) {
    const socket = net.connect(port, '127.0.0.1');
    const up = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (up) return;
  }
  throw new Error(`${command} does not serve: ${said}`);
}

/** A database `postgres` of the user `postgres`. Its programs refuse to run as root. */
async function postgres({ folder }) {
  const find = "ls -d /usr/lib/postgresql/*/bin /usr/bin 2>/dev/null | sort -V | tail -n 1";
  const bin = execFileSync('sh', ['-c', find], { encoding: 'utf8' }).trim();
  const data = path.join(folder, 'postgres');
  fs.mkdirSync(data);
  if (AS_ROOT) fs.chownSync(data, NOBODY, NOBODY);
  const user = AS_ROOT ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  const make = [...user, path.join(bin, 'initdb'), '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--locale=C'];
  execFileSync(make[0], make.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], cwd: data });
  fs.appendFileSync(path.join(data, 'pg_hba.conf'), 'host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n');
  const serve = [...user, path.join(bin, 'postgres'), '-D', data, '-h', '*', '-k', '', '-F'];
  await daemon(serve, 5432, { cwd: data });
}

async function redis({ folder }) {
  const argv = ['redis-server', '--port', '6379', '--bind', '*', '-::*', '--protected-mode', 'no', '--save', '', '--dir', folder];
  await daemon(argv, 6379);
}

/** git:// @param {any} context */
async function git(context) {
  const root = repository(context);
  await daemon(['git', 'daemon', '--reuseaddr', '--export-all', `--base-path=${root}`, root], 9418);
}

/** A key that opens the account of whoever runs the tests. Gives what a client needs. */
async function ssh(context) {
  const { folder } = context;
  const file = (/** @type {string} */ name) => path.join(folder, `ssh-${name}`);
  for (const name of ['host', 'user']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file(name)]);
  fs.copyFileSync(file('user.pub'), file('authorized'));
  fs.writeFileSync(file('known'), `* ${fs.readFileSync(file('host.pub'), 'utf8')}`);
  const config = [
    'Port 22',
    `HostKey ${file('host')}`,
    `AuthorizedKeysFile ${file('authorized')}`,
    'StrictModes no',
    'PermitRootLogin yes',
    'PidFile none',
  ];
  fs.writeFileSync(file('config'), `${config.join('\n')}\n`);
  await daemon(['/usr/sbin/sshd', '-D', '-e', '-f', file('config')], 22);
  const options = [
    `-F none -i ${file('user')} -o UserKnownHostsFile=${file('known')} -o GlobalKnownHostsFile=none`,
    '-o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=10',
  ].join(' ');
  return { options, user: os.userInfo().username, repository: path.join(repository(context), 'project.git') };
}

module.exports = { git, postgres, redis, ssh };
