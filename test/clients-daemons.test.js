'use strict';
// Clients that never heard of a proxy: git by all its transports, ssh, psql and redis-cli against real servers.

const t = require('tap');
const { onTestHost } = require('./helpers/outside');
const { testClients } = require('./helpers/outside-clients');

const clone = (/** @type {string} */ url) =>
  `to=$(mktemp -d) && git clone -q "${url}" "$to/clone" && cat "$to/clone/README"; rm -rf "$to"`;
const GIT = /^hello from git$/m;

/** @param {{ options: string, user: string, repository: string }} ssh @returns {import('./helpers/outside-clients').Client[]} */
const clients = (ssh) => [
  { name: 'git, https', script: clone('https://$HOST/git/project.git'), says: GIT },
  { name: 'git, http', script: clone('http://$HOST/git/project.git'), says: GIT, port: 80 },
  { name: 'git, git://', script: clone('git://$HOST/project.git'), says: GIT, port: 9418 },
  {
    name: 'git, ssh',
    script: `export GIT_SSH_COMMAND='ssh ${ssh.options}'; ${clone(`ssh://${ssh.user}@$HOST${ssh.repository}`)}`,
    says: GIT,
    port: 22,
  },
  { name: 'ssh', script: `ssh ${ssh.options} "${ssh.user}@$HOST" 'echo $((40 + 2))'`, says: /^42$/m, port: 22 },
  { name: 'psql', script: `psql -X -h "$HOST" -U postgres -d postgres -Atc 'select 40 + 2'`, says: /^42$/m, port: 5432 },
  { name: 'redis-cli', script: 'redis-cli -h "$HOST" ping', says: /^PONG$/m, port: 6379 },
];

onTestHost(t, __filename, async (outside) => {
  const [ssh] = await Promise.all(['ssh', 'web', 'git', 'postgres', 'redis'].map((name) => outside.start(name)));
  await testClients(t, outside, clients(ssh));
});
