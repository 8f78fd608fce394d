'use strict';
// Where a host lacks what the transparent network needs: the proxy is there all the same, decides alike, and whoever knows of
// no proxy gets nowhere.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const t = require('tap');
const { onTestHost } = require('./helpers/outside');
const { runProgram } = require('./helpers/program');
const { scratchFolder } = require('./helpers/sandbox');
const { blockOf } = require('./helpers/violations');

/** Runs scripts, all at once, each in a run of its own. */
const RUN = `
  const [workspace, network, ...scripts] = process.argv.slice(1);
  const sandbox = await OsSandbox.start({ network: JSON.parse(network) });
  say(sandbox.status);
  const machine = sandbox.machine(workspace);
  say(await Promise.all(scripts.map((script) => machine.run(['bash', '-c', script], { timeoutMs: 20000 }))));
  await sandbox.dispose();`;

const RULES = { allowedDomains: ['allowed.example.com'] };
const HELLO = /hello from/;
const curl = (/** @type {string} */ url, more = '') => `curl -sS -m 10 ${more} ${url}`;
const direct = "--noproxy '*'";

const ALLOWED = [
  curl('http://allowed.example.com/'),
  curl('https://allowed.example.com/'),
  curl('http://allowed.example.com/', '-x "socks5h://${HTTP_PROXY#http://}"'),
  curl('http://allowed.example.com/', '-p'),
];
const DENIED = [
  curl('http://denied.example.net/'),
  curl('https://denied.example.net/'),
  curl('http://denied.example.net/', '-x "socks5h://${HTTP_PROXY#http://}"'),
  curl('http://192.0.2.10/'),
  curl('http://127.0.0.1:22/', "--noproxy ''"),
  curl('https://denied.example.net/', '--connect-to denied.example.net:443:allowed.example.com:443'),
];
const IGNORANT = [
  curl('http://allowed.example.com/', direct),
  curl('http://192.0.2.10/', direct),
  'exec 9<>/dev/tcp/192.0.2.10/80 && printf "GET / HTTP/1.0\\r\\n\\r\\n" >&9 && cat <&9',
  'dig +short +timeout=1 +tries=1 @192.0.2.53 secret.example.net',
  'echo x > /dev/udp/192.0.2.10/123',
];

/** How a program is started where something is missing → what its commands have then. */
const HOSTS = {
  'no second network namespace': {
    launcher: () => ['unshare', '-Ur', 'sh', '-c', 'echo 1 > /proc/sys/user/max_net_namespaces && exec "$@"', 'sh'],
    guarantees: { network: 'session', capture: 'proxy' },
    transparent: false,
    told: true,
  },
  'no entering of namespaces': {
    launcher: (/** @type {string} */ refuse) => [refuse, 'setns', '--'],
    guarantees: { network: 'per-command', capture: 'proxy' },
    transparent: false,
    told: true,
  },
  'no supervisor': {
    launcher: (/** @type {string} */ refuse) => [refuse, 'pidfd_getfd', '--'],
    guarantees: { network: 'session', capture: 'transparent' },
    transparent: true,
    told: false,
  },
};

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  const refuse = path.join(outside.folder, 'refuse');
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', refuse, path.join(__dirname, 'helpers', 'refuse.c')]);

  for (const [missing, { launcher, guarantees, transparent, told }] of Object.entries(HOSTS)) {
    t.test(`with ${missing}`, async (t) => {
      /** @param {string[]} scripts */
      const run = async (...scripts) => {
        const args = [scratchFolder(t), JSON.stringify(RULES), ...scripts];
        const { said, stderr } = await runProgram(t, RUN, { launcher: launcher(refuse), args, env: { ...process.env, ...outside.env } });
        const [status, results] = said;
        t.match(status, { enabled: true, guarantees }, stderr);
        return results;
      };
      for (const [i, result] of (await run(...ALLOWED)).entries()) t.match(result, { stdout: HELLO }, `${ALLOWED[i]}: ${result.stderr}`);
      await outside.events();
      for (const [i, result] of (await run(...DENIED)).entries()) {
        t.notMatch(result, { stdout: HELLO }, DENIED[i]);
        if (told) t.match(blockOf(result.stderr), [/^deny network-outbound /], DENIED[i]);
      }
      const sent = (await outside.events()).filter(({ kind, name }) => !/allowed\.example\.com/.test(name) && kind !== 'packet');
      t.same(sent, [], 'nothing of what is denied is heard outside');
      const [named, ...others] = await run(...IGNORANT);
      for (const [i, result] of others.entries()) t.notMatch(result, { stdout: HELLO }, IGNORANT[i + 1]);
      t.equal(HELLO.test(named.stdout), transparent, 'who knows of no proxy gets as far as is told');
      if (!transparent) t.same(await outside.events(), []);
    });
  }
});
