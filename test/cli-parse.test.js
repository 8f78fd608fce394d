'use strict';
// The words of a command line, and what is generated from the table of options; nothing is run.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { UsageError } = require('../lib/cli/errors');
const { FLAGS, RUN, SUBCOMMANDS, keyOf, namesOf } = require('../lib/cli/flags');
const { optionsOf } = require('../lib/cli/layers');
const { limitsOf } = require('../lib/cli/limits');
const { manualPage, markdownTable } = require('../lib/cli/manual');
const { parse } = require('../lib/cli/parse');
const { printable, violationLine } = require('../lib/cli/printable');
const { flagText, helpOf } = require('../lib/cli/usage');
const { loadNative } = require('../lib/native');

const ROOT = path.join(__dirname, '..');

/** @type {Array<[string, string[], { subcommand?: string, flags?: object, words?: string[] }]>} */
const ACCEPTED = [
  ['options end at the first word', ['--debug', 'ls', '--debug', '-c'], { flags: { debug: true }, words: ['ls', '--debug', '-c'] }],
  ['and at --', ['--debug', '--', '--version'], { flags: { debug: true }, words: ['--version'] }],
  ['a second -- is the command\'s', ['--', 'x', '--', 'y'], { words: ['x', '--', 'y'] }],
  ['an empty word is a word', ['', 'x'], { words: ['', 'x'] }],
  ['- is a word', ['-', 'x'], { words: ['-', 'x'] }],
  ['a value may follow', ['--deny-read', '/a', 'x'], { flags: { denyRead: ['/a'] }, words: ['x'] }],
  ['or come behind =', ['--deny-read=/a', 'x'], { flags: { denyRead: ['/a'] } }],
  ['and may have a = in it', ['--deny-read=/a=b', '--env', 'A=b=c', 'x'], { flags: { denyRead: ['/a=b'], env: ['A=b=c'] } }],
  ['one that begins with - comes behind =', ['--deny-read=-a', '--command=-x'], { flags: { denyRead: ['-a'], command: '-x' } }],
  ['lists repeat', ['--deny-read', '/a', '--deny-read=/b', 'x'], { flags: { denyRead: ['/a', '/b'] } }],
  ['domains are split at commas', ['--network-allowlist', 'a.example.com, b.example.com', '--allow-domain=c.example.com', 'x'],
    { flags: { networkAllowlist: ['a.example.com', 'b.example.com', 'c.example.com'] } }],
  ['so are addresses and denied domains', ['--allow-ip', '192.0.2.1,192.0.2.2', '--deny-domain=a.example.com,b.example.com', 'x'],
    { flags: { allowIp: ['192.0.2.1', '192.0.2.2'], denyDomain: ['a.example.com', 'b.example.com'] } }],
  ['paths are never split', ['--allow-read', '/a,b', '--allow-write=/c, d', '--allow-unix-socket', '/e,f', 'x'],
    { flags: { allowRead: ['/a,b'], allowWrite: ['/c, d'], allowUnixSocket: ['/e,f'] } }],
  ['short names are those of srt', ['-d', '-s', 'f', '-c', 'ls | wc', 'name', '-x'], { flags: { debug: true, settings: 'f', command: 'ls | wc' }, words: ['name', '-x'] }],
  ['help needs no command', ['-h'], { flags: { help: true } }],
  ['nor does the version', ['-V'], { flags: { version: true } }],
  ['a subcommand is the very first word', ['log', 'a', '--json', '--', '-b'], { subcommand: 'log', flags: { json: true }, words: ['a', '-b'] }],
  ['and no other', ['--debug', 'log', 'a'], { subcommand: RUN, flags: { debug: true }, words: ['log', 'a'] }],
  ['nor one behind --', ['--', 'log', 'a'], { subcommand: RUN, words: ['log', 'a'] }],
  ['options of explain may follow its words', ['explain', '/a', '--deny-read', '/b', 'c'], { subcommand: 'explain', flags: { denyRead: ['/b'] }, words: ['/a', 'c'] }],
  ['those of learn may not', ['learn', '--debug', 'ls', '--debug'], { subcommand: 'learn', flags: { debug: true }, words: ['ls', '--debug'] }],
  ['the same value twice is no contradiction', ['--cwd', '/a', '--cwd=/a', 'x'], { flags: { cwd: '/a' } }],
  ['numbers', ['--max-tunnels', '7', '--ask', '--ask-timeout=300', 'x'], { flags: { maxTunnels: 7, ask: true, askTimeout: 300 } }],
  ['what an object has is no option\'s value', ['__proto__'], { words: ['__proto__'] }],
];

t.test('a command line is read by the table of options', async (t) => {
  for (const [name, args, { subcommand = RUN, flags = {}, words = args.at(-1) === 'x' ? ['x'] : [] }] of ACCEPTED) {
    const parsed = parse(args);
    t.same({ ...parsed, flags: { ...parsed.flags } }, { subcommand, flags, words }, name);
  }
});

/** @type {Array<[string[], RegExp]>} */
const REFUSED = [
  [[], /no command/],
  [['--debug'], /no command/],
  [['learn'], /no command/],
  [['--bogus', 'x'], /"--bogus": unknown option$/],
  [['--allow-raed=/x', 'y'], /did you mean --allow-read\?/],
  [['-x', 'y'], /"-x": unknown option/],
  [['-dh'], /"-dh": unknown option/],
  [['-s=f', 'x'], /unknown option/],
  [['--json', 'x'], /unknown option/],
  [['log', '--allow-write', '/x', 'f'], /unknown option/],
  [['doctor', '--settings', 'f'], /unknown option/],
  [['--debug=yes', 'x'], /--debug: takes no value/],
  [['--allow-write'], /--allow-write: PATH is missing/],
  [['--allow-write', '--deny-write', '/x', 'y'], /--allow-write: PATH is missing .*--allow-write=--deny-write/],
  [['-c'], /LINE is missing/],
  [['--cwd', '/a', '--cwd', '/b', 'x'], /--cwd: given twice/],
  [['--default-read', 'no', 'x'], /--default-read: expected allow or deny, found "no"/],
  [['--max-tunnels', '1e3', 'x'], /--max-tunnels: expected a whole number/],
  [['--ask-timeout', '5', 'x'], /without --ask/],
  [['--ask', '--ask-timeout', '0', 'x'], /1 to 300/],
  [['--ask', '--ask-timeout', '301', 'x'], /1 to 300/],
  [['--violations', 'none', '--monitor-reads', 'x'], /--monitor-reads: contradicts/],
  [['--violations', 'none', '--ignore-violations', 'y', 'x'], /--ignore-violations: means nothing/],
  [['--settings=', 'x'], /--settings: the value is empty/],
  [['--violations', '', 'x'], /--violations: the value is empty/],
  [['log'], /log: nothing is named/],
  [['doctor', 'x'], /doctor: takes no words/],
  [['explain'], /explain: nothing is named/],
  [['explain', '--profile', 'windows'], /expected linux or darwin/],
  [['explain', '--profile', 'linux', '--json'], /contradicts --profile/],
];

t.test('what makes no sense is refused with its reason', async (t) => {
  for (const [args, message] of REFUSED) t.throws(() => parse(args), { name: 'UsageError', message }, args.join(' '));
});

/** What only the policy can tell. @type {Array<[string[], RegExp]>} */
const REFUSED_VALUES = [
  [['--network-allowlist', 'http://a.example.com'], /^--network-allowlist: expected a domain pattern, found "http:\/\/a\.example\.com" \(.*\)/],
  [['--deny-domain', 'a.example.com,,b.example.com'], /^--deny-domain: expected a domain pattern, found ""/],
  [['--deny-domain', ','], /^--deny-domain: expected a domain pattern, found ""/],
  [['--allow-ip', 'a.example.com'], /^--allow-ip: expected an address/],
  [['--allow-protected', 'x'], /^--allow-protected: expected a protected name/],
  [['--max-tunnels', '0'], /^--max-tunnels: expected a whole number from 1 to 65536, found 0/],
  [['--upstream-proxy', 'x'], /^--upstream-proxy: expected "direct" or the URL/],
  [['--upstream-proxy='], /^--upstream-proxy: expected/],
  [['--limit', 'memory=no'], /^--limit memory: expected bytes/],
  [['--limit='], /^--limit: expected one of/],
  [['--ignore-violations', ''], /^--ignore-violations: expected /],
  ...['--allow-read', '--deny-read', '--allow-write', '--deny-write', '--allow-unix-socket'].map((flag) => [[`${flag}=`], new RegExp(`^${flag}: expected a path, found ""`)]),
];

t.test('a value that makes no sense is refused by the name of its flag', async (t) => {
  for (const [args, message] of REFUSED_VALUES) t.throws(() => optionsOf(parse([...args, 'x']).flags), { name: 'UsageError', message }, args.join(' '));
});

t.test('limits', async (t) => {
  t.same(limitsOf(['memory=512M', 'processes=20', 'cpu=5', 'file=1g', 'open-files=64']),
    { memoryBytes: 512 * 2 ** 20, processes: 20, cpuSeconds: 5, fileBytes: 2 ** 30, openFiles: 64 });
  t.same(limitsOf(['memory=7', 'memory=7']), { memoryBytes: 7 });
  const wrong = ['memory', 'memory=', 'memory=0', 'memory=-1', 'memory=1.5G', 'memory=1X', 'processes=1K', 'toString=1', '=1', 'cpu=1s', 'memory=9999999T'];
  for (const item of wrong) t.throws(() => limitsOf([item]), UsageError, item);
  t.throws(() => limitsOf(['cpu=1', 'cpu=2']), { message: /given twice/ });
});

t.test('the table of options has no name twice, and sets options that there are', async (t) => {
  for (const command of [RUN, ...SUBCOMMANDS.map(({ name }) => name)]) {
    const known = FLAGS.filter(({ commands }) => commands.includes(command));
    const names = known.flatMap((flag) => [...namesOf(flag), ...(flag.short ? [flag.short] : [])]);
    t.equal(new Set(names).size, names.length, command);
    t.equal(new Set(known.map(keyOf)).size, known.length);
  }
  const { keys } = JSON.parse(loadNative().addon.optionSchema()).options;
  for (const { option, kind } of FLAGS) {
    if (!option) continue;
    const [first, second] = option.split('.');
    const node = second ? keys[first]?.keys[second] : keys[first];
    t.equal(node?.kind, { list: 'strings', switch: 'boolean', value: 'string', number: 'number' }[kind], option);
  }
});

t.test('the help tells of every option, and no line of it is too long', async (t) => {
  const help = helpOf(RUN);
  for (const flag of FLAGS) if (flag.commands.includes(RUN)) t.ok(help.includes(flagText(flag)), flag.name);
  for (const { name } of SUBCOMMANDS) {
    t.ok(help.includes(`\n  ${name}`), name);
    t.ok(helpOf(name).startsWith(`usage: os-sandbox ${name} `), name);
  }
  t.same(help.split('\n').filter((line) => line.length > 105), []);
});

t.test('the manual page and the README have what is generated', async (t) => {
  const { version } = require('../package.json');
  t.equal(fs.readFileSync(path.join(ROOT, 'man', 'os-sandbox.1'), 'utf8'), manualPage(version), 'node scripts/cli-docs.js makes it');
  t.ok(fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8').includes(markdownTable()), 'node scripts/cli-docs.js --markdown makes it');
});

t.test('the README and the types have every option of the library', async (t) => {
  const [readme, types] = ['README.md', 'index.d.ts'].map((file) => fs.readFileSync(path.join(ROOT, file), 'utf8'));
  const { keys } = JSON.parse(loadNative().addon.optionSchema()).options;
  for (const [group, node] of Object.entries(keys)) {
    for (const name of node.keys ? Object.keys(node.keys) : [group]) {
      const row = group === name ? name : `${group}.${name}`;
      t.ok(readme.includes(group === 'limits' ? `\n| \`${name}\` | ` : `\n| \`${row}\` | `), row);
      t.ok(types.includes(`\n  ${name}?: `), row);
    }
  }
});

t.test('what a command had a hand in cannot do anything to a terminal', async (t) => {
  t.equal(printable('a\x1b[31m\n\u202eb\u{e0041}\x9b\ud800ü'), 'a\\u001b[31m\\n\\u202eb\\u{e0041}\\u009b\ufffdü');
  t.equal(violationLine({ operation: 'file-write-create', path: '/x\n/y', why: 'a\tb' }), 'deny file-write-create /x\\n/y (a\\u0009b)');
  t.equal(violationLine({ operation: 'network-outbound', host: '2001:db8::7', port: 443 }), 'deny network-outbound [2001:db8::7]:443');
  t.equal(violationLine({ operation: 'system-socket' }), 'deny system-socket');
});
