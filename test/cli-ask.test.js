'use strict';
// Questions of the command line, on a terminal.

const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const t = require('tap');
const { MAIN, makePlace, textOf } = require('./helpers/cli');

const place = makePlace(t);
const PTY = path.join(__dirname, 'helpers', 'on_terminal.py');
const QUESTION = 'Allow? [y/N] ';

/**
 * Runs the command line on a terminal, where steps answer.
 * @param {string[]} args
 * @param {Array<{ until: string, send: string }>} steps
 */
async function onTerminal(args, steps) {
  const child = execFile('python3', [PTY, '60', process.execPath, MAIN, ...args], { cwd: place.workspace, env: place.env });
  child.stdin?.end(steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
  const [stdout, stderr] = await Promise.all([textOf(/** @type {any} */ (child.stdout)), textOf(/** @type {any} */ (child.stderr))]);
  if (stdout === '') throw new Error(stderr);
  const { text, ...rest } = JSON.parse(stdout);
  return { ...rest, text, foreground: /@foreground (\w+)/.exec(text)?.[1], questions: text.split(QUESTION).length - 1 };
}

/** What became of a request, in one word of the command's output. @param {string} name @param {string} [more] */
const request = (name, more = '') => `curl -s -o /dev/null -w 'got=%{http_code} ' ${more} http://${name}.example.com/`;

/** The host has no way to such a name: an answer of yes ends in 502, one of no in 403. */
const ALLOWED = 'got=502 ';
const REFUSED = 'got=403 ';

t.test('a question is asked once for a host, and y lets the command through', async (t) => {
  const script = `${request('one.invalid')}; ${request('one.invalid')}; ${request('two.invalid')}`;
  const { text, questions, ...ended } = await onTerminal(['--ask', 'sh', '-c', script], [{ until: QUESTION, send: 'y\n' }, { until: QUESTION, send: 'no\n' }]);
  t.match(ended, { code: 0, ended: true, modes: true, foreground: 'True' });
  t.equal(questions, 2, text);
  t.match(text, 'os-sandbox: sh wants to reach one.invalid.example.com:80. Allow? [y/N] ');
  t.same(text.match(/got=\d+ /g), [ALLOWED, ALLOWED, REFUSED]);
  t.match(text, /os-sandbox: deny network-outbound two\.invalid\.example\.com:80 \(.*\)\r+\n/);
});

t.test('an empty answer, another word, Ctrl-C and silence refuse', async (t) => {
  const script = `trap : INT; ${['a', 'b', 'c'].map((name) => request(name)).join('; ')}; ${request('d')}`;
  const answers = ['\n', 'yesterday\n', '\x03'].map((send) => ({ until: QUESTION, send }));
  const { text, questions, ...ended } = await onTerminal(['--ask', '--ask-timeout', '1', 'bash', '-c', script], answers);
  t.match(ended, { ended: true, modes: true });
  t.equal(questions, 4, text);
  t.notMatch(text, ALLOWED);
  t.match(text, 'no answer in 1 s: refused');
});

t.test('questions that come together are asked one after the other', async (t) => {
  const script = `${['a', 'b', 'c'].map((name) => `${request(name)} &`).join(' ')} wait`;
  const yes = { until: QUESTION, send: 'y\n' };
  const { text, questions, ...ended } = await onTerminal(['--ask', 'sh', '-c', script], [yes, yes, yes]);
  t.match(ended, { code: 0, ended: true, modes: true });
  t.equal(questions, 3, text);
  t.same(text.match(/got=\d+ /g), [ALLOWED, ALLOWED, ALLOWED]);
});

t.test('a question works though the command has put the terminal into raw mode', async (t) => {
  const script = `stty raw -echo; ${request('raw')}; stty -a | grep -o -- '-icanon'; stty sane`;
  const { text, ...ended } = await onTerminal(['--ask', 'sh', '-c', script], [{ until: QUESTION, send: 'y\n' }]);
  t.match(ended, { code: 0, ended: true });
  t.match(text, ALLOWED);
  t.match(text, '-icanon', 'raw again after the answer');
});

t.test('a command that ends takes its question with it', async (t) => {
  const script = `(${request('left')} >/dev/null &) ; sleep 1; exit 4`;
  const { text, ...ended } = await onTerminal(['--ask', 'sh', '-c', script], []);
  t.match(ended, { code: 4, ended: true, modes: true });
});

t.test('without a terminal it is refused, and that is said once', async (t) => {
  const child = spawn('setsid', ['--wait', process.execPath, MAIN, '--ask', 'sh', '-c', `${request('a')}; ${request('b')}`], { cwd: place.workspace, env: place.env });
  child.stdin.end();
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  t.equal(stdout, REFUSED + REFUSED);
  t.equal(stderr.split('there is no terminal to ask on').length, 2, stderr);
});

t.test('what lists decide is not asked', async (t) => {
  const server = http.createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const script = `curl -s http://localhost:${port}/; ${request('denied')}`;
  const args = ['--ask', '--network-allowlist', `localhost:${port}`, '--deny-domain', 'denied.example.com', 'sh', '-c', script];
  const { text, questions } = await onTerminal(args, []);
  t.equal(questions, 0, text);
  t.match(text, 'reached');
  t.match(text, REFUSED);
});
