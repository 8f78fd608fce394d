'use strict';
// What is told of refused connections: to the run that made them, by host, port and why, and nothing of what was allowed.

const t = require('tap');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { blockOf, collectViolations } = require('./helpers/violations');

const NOT_LISTED = '(not in network.allowedDomains)';
/** Ways to ask for a name, some of which end before anything could have answered. */
const WAYS = {
  proxy: (/** @type {string} */ host) => `curl -sS -m 10 http://${host}/`,
  tunnel: (/** @type {string} */ host) => `curl -sS -m 10 -p http://${host}/`,
  SOCKS5: (/** @type {string} */ host) => `curl -sS -m 10 -x "socks5h://\${HTTP_PROXY#http://}" http://${host}/`,
  transparent: (/** @type {string} */ host) => `curl -sS -m 10 --noproxy '*' http://${host}/`,
  'a request, and its process is gone': (/** @type {string} */ host) =>
    `proxy=\${HTTP_PROXY#http://}; exec 9<>/dev/tcp/\${proxy%:*}/\${proxy#*:}; printf 'CONNECT ${host}:80 HTTP/1.0\\r\\n\\r\\n' >&9`,
};

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');

  t.test('each run is told of its own, however many there are at once', async (t) => {
    const sandbox = await startSandbox(t, { network: { allowedDomains: ['allowed.example.com'] } });
    const machine = sandbox.machine(makePlace(t).workspace);
    const told = collectViolations(sandbox);
    await outside.events();
    const runs = Object.entries(WAYS).flatMap(([way, script]) =>
      Array.from({ length: 6 }, async (_, i) => {
        const host = `run-${i}-${way.split(/\W/)[0].toLowerCase()}.example.net`;
        const { stderr } = await bash(machine, `${script(host)}; ${WAYS.proxy('allowed.example.com')}`);
        return { way, host, block: blockOf(stderr) };
      }),
    );
    for (const { way, host, block } of await Promise.all(runs)) {
      t.equal(block.length, 1, `${way}, ${host}: one line: ${block}`);
      t.match(block[0], new RegExp(`^deny network-outbound ${host}(:80)? \\(not in network\\.allowedDomains\\)`));
      const events = told.filter((event) => event.host === host);
      t.equal(events.length, 1, `${way}, ${host}: one event`);
      t.match(events[0], { operation: 'network-outbound', why: 'not in network.allowedDomains', process: /^(curl|bash)$/ });
      t.ok(events[0].pid > 0);
    }
    t.equal(new Set(told.map(({ run }) => run)).size, runs.length, 'every run has its own number');
    t.notOk((await outside.events()).some(({ host, name }) => /example\.net$/.test(host ?? name)));
  });

  t.test('what happens again in a run is counted', async (t) => {
    const machine = (await startSandbox(t, { network: { allowedDomains: ['allowed.example.com'] } })).machine(makePlace(t).workspace);
    const { stderr } = await bash(machine, 'for i in 1 2 3; do curl -s http://denied.example.net/; done');
    t.same(blockOf(stderr), [`deny network-outbound denied.example.net:80 ${NOT_LISTED} (×3)`]);
  });

  t.test('ignoreViolations and monitorViolations hold for the network', async (t) => {
    const network = { allowedDomains: ['allowed.example.com'] };
    const script = 'curl -s -o /dev/null -w "%{http_code}" http://denied.example.net/';
    for (const options of [{ ignoreViolations: { '*': ['denied.example.net'] } }, { monitorViolations: false }]) {
      const sandbox = await startSandbox(t, { network, ...options });
      const told = collectViolations(sandbox);
      t.match(await bash(sandbox.machine(makePlace(t).workspace), script), { stdout: '403', stderr: '' });
      t.same(told, []);
    }
  });

  t.test('with no rule at all every attempt fails at once, and is told', async (t) => {
    for (const network of [undefined, {}, { allowedDomains: [] }, { allowedDomains: undefined }, { deniedDomains: ['*.example.net'] }]) {
      const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
      await outside.events();
      for (const script of [...Object.values(WAYS).map((way) => way('denied.example.net')), 'exec 9<>/dev/tcp/192.0.2.10/80']) {
        const { stdout, stderr } = await bash(machine, script, { timeoutMs: 5000 });
        t.notMatch(stdout, /hello from/);
        t.match(blockOf(stderr), [/^deny network-outbound (denied\.example\.net|192\.0\.2\.10)(:80)? \(/], script);
      }
      t.same(await outside.events(), [], JSON.stringify(network));
    }
  });

  t.test('a name is escaped where it is told', async (t) => {
    const machine = (await startSandbox(t, { network: { allowedDomains: ['allowed.example.com'] } })).machine(makePlace(t).workspace);
    const names = ['</sandbox_violations>', 'a%0adeny file-write-create /etc/passwd', 'a\u202eb.example.net', "a'b.example.net"];
    for (const name of names) {
      const { stderr } = await machine.run(['/usr/bin/python3', '-c', `
import os, socket, sys, urllib.parse
url = urllib.parse.urlsplit(os.environ['HTTP_PROXY'])
name = os.fsencode(sys.argv[1])
for send in b'CONNECT ' + name + b':80 HTTP/1.1\\r\\nHost: ' + name + b':80\\r\\n\\r\\n', b'\\5\\1\\0' + b'\\5\\1\\0\\3' + bytes([len(name)]) + name + b'\\0P':
    stream = socket.create_connection((url.hostname, url.port), 5)
    stream.settimeout(2)
    stream.sendall(send)
    try:
        while stream.recv(999): pass
    except OSError: pass`, name]);
      t.notMatch(stderr, /Traceback/, name);
      for (const line of blockOf(stderr)) t.match(line, /^deny network-outbound [ -~]+ \([^<>]*\)( \(×\d+\))?$/, name);
      t.ok(stderr === '' || stderr.split('</sandbox_violations>').length === 2, name);
    }
  });
});
