'use strict';
// sandbox.explain() of hosts: what it says is whether a client gets through, and why it is refused.

const http = require('node:http');
const { once } = require('node:events');
const t = require('tap');
const { makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');

const NAMES = ['a.example.com', 'b.a.example.com', 'example.com', 'A.Example.COM', 'a.example.net', 'b.example.net', 'a.example.org', 'host.example.com'];
const ADDRESSES = ['192.0.2.10', '192.0.2.20', '198.51.100.7', '10.1.2.3', '169.254.169.254', '127.0.0.1', 'localhost', '[2001:db8::10]', '198.19.200.9', '100.127.255.253'];
const TARGETS = [...[...NAMES, ...ADDRESSES].map((host) => `${host}:80`), ...NAMES.map((host) => `${host}:443`)];

const POLICIES = {
  'nothing': {},
  'names': { allowedDomains: ['a.example.com', '*.example.net', 'example.com:443'], deniedDomains: ['b.example.net'] },
  'everything but': { allowedDomains: ['*'], deniedDomains: ['*.example.net', 'a.example.com:443', '198.51.100.7'], allowedIPs: ['0.0.0.0/0', '[::/0]'] },
  'addresses': { allowedIPs: ['192.0.2.0/28', '10.0.0.0/8:80', '169.254.169.254'], allowedDomains: ['192.0.2.20', 'localhost:80', 'host.example.com'] },
};

/** What curl gets at each, all at once. @param {any} machine @param {NodeJS.ProcessEnv} env */
async function attempt(machine, env) {
  const line = (target) => {
    const url = `http${target.endsWith(':443') ? 's' : ''}://${target}/`;
    return `(curl -skg -m 20 --noproxy '*' -o /dev/null '${url}' && echo '${target}') &`;
  };
  const { stdout } = await machine.run(['bash', '-c', `${TARGETS.map(line).join('\n')}\nwait`], { env });
  return new Set(stdout.trim().split('\n'));
}

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  const own = http.createServer((request, response) => response.end('hello from the host'));
  await once(own.listen(80, '127.0.0.1'), 'listening').catch(() => once(own.listen(0, '127.0.0.1'), 'listening'));
  t.teardown(() => own.close());
  const reachesOwn = own.address().port === 80;

  t.test('explain says of every host whether a client reaches it, and why not', async (t) => {
    for (const [name, network] of Object.entries(POLICIES)) {
      const sandbox = await startSandbox(t, { network });
      const said = await sandbox.explain(TARGETS);
      const reached = await attempt(sandbox.machine(makePlace(t).workspace), outside.env);
      const events = sandbox.violations.list();
      const wrong = [];
      said.forEach(({ target, host, port, reach }) => {
        const isOwn = /^(localhost|127\.0\.0\.1):/.test(target);
        if (reach.allowed !== reached.has(target) && !(isOwn && reach.allowed && !reachesOwn)) wrong.push({ target, reach });
        const told = events.filter((event) => event.host === host && (event.port === undefined || event.port === port));
        // Where nothing can be allowed the supervisor says so of every address, whatever kind it is.
        for (const { why } of told) if (!reach.allowed && name !== 'nothing' && why !== reach.why) wrong.push({ target, reach, why });
      });
      t.strictSame(wrong, [], name);
      await sandbox.dispose();
    }
  });

  t.test('a host that is asked about is said to be, and nobody is asked', async (t) => {
    let asked = 0;
    const sandbox = await startSandbox(t, { network: { allowedDomains: ['a.example.com'], deniedDomains: ['b.example.com'], onAskHost: async () => Boolean(asked += 1) } });
    const said = await sandbox.explain(['a.example.com', 'b.example.com', 'c.example.com:443', '192.0.2.9:80', '169.254.169.254:80']);
    t.strictSame(said.map(({ reach }) => reach.allowed), [true, false, 'ask', 'ask', false]);
    t.equal(asked, 0);
    await outside.events();
    await sandbox.explain('c.example.com');
    t.strictSame((await outside.events()).filter(({ kind }) => kind === 'lookup'), [], 'and nothing was looked up');
  });
});
