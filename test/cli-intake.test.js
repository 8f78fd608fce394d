'use strict';
// Nothing is run looser than written, and nothing else is run than written.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { makePlace } = require('./helpers/cli');

const place = makePlace(t);
const { cli, workspace, outside, home, env } = place;

/** The options that it would run with. @param {string[]} args @param {any} [options] */
async function optionsOf(args, options) {
  const { stderr } = await cli(['--debug', ...args, 'true'], options);
  return JSON.parse(/** @type {any} */ (/^os-sandbox: debug: options (.*)$/m.exec(stderr))?.[1] ?? '{}');
}

/** With words that Node cannot pass on. @param {string} words as bash has them @param {string} [cwd] */
const bytes = (words, cwd = workspace) => cli([], { launcher: ['bash', '-c', `exec "$@" ${words}`, 'bash'], cwd });

t.test('words are passed on byte by byte, and an option that is not UTF-8 is refused', async (t) => {
  const hex = `sh -c 'for word; do printf "%s " "$word" | od -An -tx1; done; touch ran' sh`;
  const [words, line, plain, ...refused] = await Promise.all([
    bytes(`${hex} $'a\\xff' '' ü $'\\ufffd'`),
    bytes(`-c 'printf "%s " "$@" | od -An -tx1' name $'\\xc3' x`),
    bytes(`sh -c 'printf %s "$1"' sh $'\\ufffd'`),
    bytes(`--deny-read $'${outside}/\\xff' touch ran2`),
    bytes(`-c $'touch ran2; echo \\xff'`),
    bytes(`--allow-unsandboxed --env A=$'\\xff' touch ran2`),
    bytes(`explain $'/\\xff'`),
    bytes(`learn cat $'/\\xff'`),
  ]);
  t.match(words, { code: 0, stdout: ' 61 ff 20\n 20\n c3 bc 20\n ef bf bd 20\n' });
  t.match(line, { code: 0, stdout: ' c3 20 78 20\n' });
  t.match(plain, { code: 0, stdout: '\ufffd' });
  for (const result of refused) t.match(result, { code: 64, stdout: '', stderr: /^os-sandbox: ".*\ufffd": not UTF-8\nusage: / });
  t.ok(fs.existsSync(path.join(workspace, 'ran')));
  t.notOk(fs.existsSync(path.join(workspace, 'ran2')));
});

t.test('a directory whose name is not UTF-8 is never taken for another one', async (t) => {
  const real = Buffer.concat([Buffer.from(`${workspace}/dir`), Buffer.of(0xff)]);
  fs.mkdirSync(real);
  fs.mkdirSync(path.join(workspace, 'dir\ufffd'));
  const from = (words) => cli([], { launcher: ['bash', '-c', `cd dir$'\\xff' && exec "$@" ${words}`, 'bash'] });
  const [refused, elsewhere, twin] = await Promise.all([from('touch ran'), from('--cwd .. touch ran3'), bytes('touch ran', path.join(workspace, 'dir\ufffd'))]);
  for (const result of [refused, elsewhere]) t.match(result, { code: 64, stderr: /the current directory's name is not UTF-8/ });
  t.equal(twin.code, 0);
  t.same([fs.readdirSync(real), fs.readdirSync(path.join(workspace, 'dir\ufffd'))], [[], ['ran']]);
  t.notOk(fs.existsSync(path.join(workspace, 'ran3')));
});

t.test('a line of shell that begins like an option is the line', async (t) => {
  const results = await Promise.all(['-x', '+x'].map((line) => cli([`--command=${line}`, 'touch ran4'])));
  for (const { code, stderr } of results) t.match({ code, stderr }, { code: 127, stderr: /[-+]x: (command )?not found/ });
  t.notOk(fs.existsSync(path.join(workspace, 'ran4')));
});

t.test('settings in the working directory are nobody\'s home, whatever HOME is', async (t) => {
  const file = path.join(workspace, '.config/os-sandbox/settings.json');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '{ "network": { "allowedDomains": ["*"] } }');
  const found = await Promise.all(['', '.', workspace.slice(1)].map((HOME) => optionsOf([], { env: { ...env, HOME } })));
  for (const { network, filesystem } of found) t.same([network, filesystem.allowWrite], [undefined, [workspace]]);
  fs.rmSync(path.join(workspace, '.config'), { recursive: true });
});

t.test('~ is the home also where no shell says so', async (t) => {
  fs.writeFileSync(path.join(home, 'own.json'), '{ "network": { "deniedDomains": ["home.example.com"] } }');
  fs.mkdirSync(path.join(workspace, '~'));
  fs.writeFileSync(path.join(workspace, '~', 'own.json'), '{}');
  const { network } = await optionsOf(['--settings=~/own.json']);
  t.same(network.deniedDomains, ['home.example.com']);
  await cli(['--violations=~/refused.jsonl', 'sh', '-c', `: > ${outside}/x`]);
  t.match(fs.readFileSync(path.join(home, 'refused.jsonl'), 'utf8'), /file-write-create/);
  t.same(fs.readdirSync(path.join(workspace, '~')), ['own.json']);
  for (const name of fs.readdirSync(home)) fs.rmSync(path.join(home, name));
});

t.test('a directory that cannot be looked at is no place to run', async (t) => {
  fs.symlinkSync('loop', path.join(workspace, 'loop'));
  const results = await Promise.all(['loop', 'x'.repeat(300), 'loop/x'].map((cwd) => cli(['--cwd', cwd, 'touch', 'ran5'])));
  for (const result of results) t.match(result, { code: 64, stderr: /^os-sandbox: --cwd: expected a directory, found ".*"\nusage: / });
  t.notOk(fs.existsSync(path.join(workspace, 'ran5')));
});

t.test('the implementation is loaded, never an entry of the package, which looks for the framework', async (t) => {
  const told = path.join(home, 'loaded.cjs');
  fs.writeFileSync(told, "process.on('exit', () => process._rawDebug(Object.keys(require.cache).join('\\n')))");
  const { code, stderr } = await cli(['true'], { env: { ...env, NODE_OPTIONS: `--require=${told}` } });
  const lib = `${path.join(__dirname, '..', 'lib')}/`;
  const loaded = stderr.split('\n').filter((line) => line.startsWith(lib)).map((line) => line.slice(lib.length));
  t.equal(code, 0);
  t.ok(loaded.includes('session.js'), stderr);
  t.same(loaded.filter((file) => /^(index|core.*|classes|os-sandbox)\.m?js$/.test(file)), []);
  fs.rmSync(told);
});

t.test('with strict reads the working directory is the write root where it is listed, and nowhere else', async (t) => {
  const listed = ['.', workspace, path.dirname(workspace), '/', `${workspace}/`];
  const others = ['/etc', `${workspace}x`, 'file', '~', '*'];
  const rootsOf = async (entry) => (await optionsOf(['--allow-read', entry])).filesystem.allowWrite;
  for (const entry of listed) t.same(await rootsOf(entry), [workspace], entry);
  for (const entry of others) t.same(await rootsOf(entry), [], entry);
});
