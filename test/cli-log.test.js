'use strict';
// Violation logs as a table.

const { execFile } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { MAIN, makePlace, textOf } = require('./helpers/cli');
const { eventually } = require('./helpers/processes');

const place = makePlace(t);
const { cli, sh, outside, workspace } = place;

let second = 0;
/** A line of a log, later than those made before. @param {object} more */
function line(more) {
  const timestamp = new Date(Date.UTC(2024, 1, 3, 4, 5, (second += 1))).toISOString();
  return `${JSON.stringify({ type: 'violation', operation: 'file-write-create', path: '/etc/motd', why: 'outside the write roots', pid: 7, process: 'sh', run: 'r-1', timestamp, ...more })}\n`;
}

/** @param {string} name @param {...string} lines */
function makeLog(name, ...lines) {
  const file = path.join(workspace, name);
  fs.writeFileSync(file, lines.join(''));
  return file;
}

/** The cells of each line. @param {string} text */
const cells = (text) => text.trimEnd().split('\n').map((row) => row.trim().split(/ {2,}/));

t.test('attempts are grouped and counted, over runs and files', async (t) => {
  const one = makeLog('one', line({}), line({}), line({ path: '/etc/other' }), line({ type: 'count', count: 5 }), line({ run: 'r-2', process: 'cp' }));
  const host = { operation: 'network-outbound', path: undefined, why: undefined, process: '' };
  const two = makeLog('two', line({ ...host, host: '2001:db8::7', port: 443 }), line({ run: 'r-2', path: '/etc/other', process: 'vi' }), line({ type: 'dropped', count: 40 }));
  const { code, stdout, stderr } = await cli(['log', one, two]);
  t.same([code, stderr], [0, '']);
  t.same(cells(stdout), [
    ['COUNT', 'FIRST (UTC)', 'LAST', 'PROCESS', 'OPERATION', 'TARGET', 'WHY'],
    ['6', '2024-02-03 04:05:01', '04:05:05', 'sh, cp', 'file-write-create', '/etc/motd', 'outside the write roots'],
    ['2', '2024-02-03 04:05:03', '04:05:07', 'sh, vi', 'file-write-create', '/etc/other', 'outside the write roots'],
    ['1', '2024-02-03 04:05:06', '04:05:06', 'network-outbound', '[2001:db8::7]:443'],
    ['40 more refused, of which no line tells'],
  ]);
  const columns = stdout.split('\n').slice(0, 4).map((row) => row.indexOf(row.includes('TARGET') ? 'TARGET' : cells(row)[0].at(row.includes('db8') ? -1 : -2)));
  t.equal(new Set(columns).size, 1, 'columns begin at the same place');
  const { groups, dropped, malformed } = JSON.parse((await cli(['log', '--json', one, two])).stdout);
  t.same([groups.map(({ count, processes }) => [count, processes]), dropped, malformed], [[[6, ['sh', 'cp']], [2, ['sh', 'vi']], [1, []]], 40, 0]);
});

t.test('a log that the command line wrote itself', async (t) => {
  await sh(`for i in 1 2 3; do echo x > ${outside}/a; done 2>/dev/null`, ['--violations', 'own.jsonl', '--cwd', outside, '--allow-write', workspace], { cwd: workspace });
  const { stdout } = await cli(['log', '-'], { input: fs.readFileSync(path.join(workspace, 'own.jsonl'), 'utf8') });
  const [, [count, , , process, operation, target]] = cells(stdout);
  t.same([count, process, operation, target], ['3', 'sh', 'file-write-create', `${outside}/a`]);
});

t.test('what is no line of a log is counted, and does nothing', async (t) => {
  const bad = ['not JSON\n', '[]\n', 'null\n', '{"type":"other"}\n', line({ operation: 7 }), line({ timestamp: 'never' }), line({ type: 'count', count: -1 }), line({ type: 'count', count: '5' }), `${'x'.repeat(3 << 20)}\n`];
  const file = makeLog('bad', ...bad, '\n', line({ path: '/a\x1b[31m\n\u202e', process: 'p\x07', why: 'w\x9b' }), line({ path: '/cut' }).slice(0, 30));
  const { code, stdout, stderr } = await cli(['log', file]);
  t.equal(code, 0);
  t.match(stdout, /p\\u0007 .* \/a\\u001b\[31m\\n\\u202e  w\\u009b\n$/);
  t.equal(stderr, `os-sandbox: log: ${bad.length + 1} lines are not of a violation log\n`);
});

t.test('a file that cannot be read is named, and the others are shown', async (t) => {
  const file = makeLog('good', line({}));
  const { code, stdout, stderr } = await cli(['log', 'missing', workspace, file]);
  t.equal(code, 1);
  t.equal(cells(stdout).length, 2);
  t.same(stderr.split('\n'), ['os-sandbox: log: missing: no such file or directory', `os-sandbox: log: ${workspace}: illegal operation on a directory`, '']);
  t.match(await cli(['log', makeLog('empty')]), { code: 0, stdout: 'nothing was refused\n', stderr: '' });
  t.match(await cli(['log', '--json', '--follow', file]), { code: 64 });
});

t.test('colour and cut lines are for terminals', async (t) => {
  const file = makeLog('wide', line({ path: `/${'long/'.repeat(60)}` }));
  const script = `stty cols 80; "$0" "$1" log "$2"; NO_COLOR=1 "$0" "$1" log "$2"; "$0" "$1" log "$2" | cat`;
  const child = execFile('python3', [path.join(__dirname, 'helpers', 'on_terminal.py'), '60', 'sh', '-c', script, process.execPath, MAIN, file], { env: { ...place.env, TERM: 'xterm', NO_COLOR: '' } });
  child.stdin?.end();
  const { text } = JSON.parse(await textOf(/** @type {any} */ (child.stdout)));
  const [, coloured, , plain, , piped] = text.split('\r\n');
  t.match(coloured, '\x1b[31mfile-write-create\x1b[39m');
  t.equal(coloured.replace(/\x1b\[\d+m/g, ''), plain);
  t.equal([...plain].length, 80);
  t.ok(plain.endsWith('…'));
  t.ok(piped.includes('long/'.repeat(60)));
});

t.test('--follow goes on through growth, rotation and truncation', async (t) => {
  const file = makeLog('followed', line({ path: '/first' }));
  const child = place.start(['log', '--follow', file, 'later', '.']);
  let [text, said] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (data) => (text += data));
  child.stderr?.setEncoding('utf8').on('data', (data) => (said += data));
  const tells = (what) => eventually(() => text.includes(what));
  t.ok(await tells(`sh  deny file-write-create /first (outside the write roots)\n`), text);
  const half = line({ path: '/second' });
  fs.appendFileSync(file, half.slice(0, 20));
  fs.appendFileSync(file, half.slice(20) + line({ path: '/first', type: 'count', count: 3 }));
  t.ok(await tells('/second ('), text);
  t.ok(await tells('/first (outside the write roots) (×3)\n'), text);
  fs.renameSync(file, `${file}.1`);
  fs.appendFileSync(`${file}.1`, line({ path: '/before-rotation' }));
  fs.writeFileSync(file, line({ path: '/rotated' }));
  t.ok(await tells('/rotated'), text);
  t.ok(text.indexOf('/before-rotation') !== -1 && text.indexOf('/before-rotation') < text.indexOf('/rotated'), text);
  fs.truncateSync(file, 0);
  t.ok(await eventually(() => fs.writeFileSync(file, line({ path: '/t' })) === undefined && text.includes('/t (')), text);
  t.equal(text.split('/second (').length, 2, 'nothing is told twice');
  t.same(said.split('\n').sort(), ['', 'os-sandbox: log: .: illegal operation on a directory', 'os-sandbox: log: later: waiting for it to be there']);
  fs.writeFileSync(path.join(place.workspace, 'later'), line({ path: '/made-later' }));
  t.ok(await tells('/made-later'), text);
  child.kill('SIGINT');
  const [, signal] = await once(child, 'close');
  t.equal(signal, 'SIGINT');
});
