'use strict';
// The JSON Schema of settings files, against the addon's table and against its verdicts.

const fs = require('node:fs');
const Ajv = require('ajv/dist/2020');
const t = require('tap');

const { loadNative } = require('../lib/native.js');
const { FILE, schemaText } = require('../scripts/settings-schema.js');

const { addon } = loadNative();
const schema = JSON.parse(fs.readFileSync(FILE, 'utf8'));

const network = (members) => ({ network: members });
const files = (members) => ({ filesystem: members });

/** Both accept them. */
const VALID = [
  {},
  { $schema: './settings.schema.json' },
  { network: {}, filesystem: {}, limits: {} },
  network({ allowedDomains: ['example.com', '*.example.com', '*', 'a_b.example.com:443', 'EXAMPLE.com.', 'xn--fsq.example.com'] }),
  network({ allowedDomains: ['192.0.2.7', '192.0.2.7:80', '0x7f.1', '017700000001', '2001:db8::7', '[2001:db8::7]', '[2001:db8::7]:443'] }),
  network({ deniedDomains: ['*:22', '*.example.com:65535', '::ffff:192.0.2.7', 'localhost:5432'] }),
  network({ allowedIPs: ['192.0.2.0/24', '192.0.2.0/24:443', '0.0.0.0/0', '::/0', '2001:db8::/32', '[2001:db8::/32]:443', '[2001:db8::7]:1'] }),
  network({ allowUnixSockets: ['/run/x.sock', '~/x', '*.sock'], allowLocalBinding: true, maxTunnels: 1 }),
  network({ upstreamProxy: 'direct' }),
  network({ upstreamProxy: 'http://user:p%40ss@proxy.example.com:3128/' }),
  network({ upstreamProxy: 'proxy.example.com:3128' }),
  network({ maxTunnels: 65536 }),
  network({ maxTunnels: 7.0 }),
  files({ denyRead: ['~', '~/x', './x', 'é', ' ', '**/*.pem', 'a~'], allowRead: [], allowWrite: ['src/**'], denyWrite: ['/'] }),
  files({ defaultRead: 'deny', allowGitConfig: false, allowProtected: ['.vscode', '.vscode/', '.claude/settings.json'] }),
  files({ writableCwd: false, privateTmp: true, packageCache: true }),
  { limits: { memoryBytes: 1, processes: 24, cpuSeconds: 60, fileBytes: 9007199254740991, openFiles: 256.0 } },
  { monitorViolations: false, monitorReads: true, violationLog: '~/v.jsonl', backend: 'auto' },
  { violationLog: '/v' },
  { ignoreViolations: { '*': ['a'], 'git push': [], '\u202e': ['b'] } },
  // What people have for sandbox-runtime.
  { allowPty: true, enableWeakerNestedSandbox: 'yes', ripgrep: { command: 'rg' }, git: { safeDirectories: ['/x'] }, seccomp: {} },
  { credentials: {}, windows: { sandboxUser: 'x' }, mandatoryDenySearchDepth: 3, bwrapPath: '/usr/bin/bwrap', socatPath: 1 },
  { javaAgentJarPath: '/x.jar', enableWeakerNetworkIsolation: true, allowAppleEvents: true },
  network({ allowAllUnixSockets: true, allowMachLookup: ['*'], deniedResolvedAddresses: [], parentProxy: {}, strictAllowlist: true }),
  network({ tlsTerminate: {}, deniedDomainReasons: { x: 'y' } }),
  files({ disabled: true }),
];

/** Neither does. */
const INVALID = [
  null, true, 7, 'x', [],
  { sandbox: true }, { denyRead: [] }, { $schema: 1 }, { $unsupported: 'x' }, { '': 1 },
  { network: null }, { network: [] }, { filesystem: true }, { limits: 1 },
  network({ allowedDomain: [] }), network({ onAskHost: true }), network({ filterRequest: null }),
  ...['', 'http://example.com', 'example.com/x', 'user@example.com', 'a b', 'a.*', 'ex*mple.com', '**.example.com', 'a..b',
    '.example.com', 'ü.example.com', 'example.com:0', 'example.com:65536', 'example.com:x', 'example.com:', '[::1', '[x]',
    'a\u0000', `${'a'.repeat(64)}.example.com`, 'example.com:080', 5, null,
  ].flatMap((entry) => [network({ allowedDomains: [entry] }), network({ deniedDomains: [entry] })]),
  ...['', '*', 'example.com', '10/8', '192.0.2.0/', '[2001:db8::]/32', '[192.0.2.7]', '192.0.2.7:0', '192.0.2.7:65536', 7]
    .map((entry) => network({ allowedIPs: [entry] })),
  ...['', 'Direct', 'https://proxy.example.com', 'socks5://proxy.example.com', 'http://proxy.example.com/x', 'proxy.example.com',
    'http://', 'direct\u0000', false].map((upstreamProxy) => network({ upstreamProxy })),
  ...[0, -1, 65537, 1.5, '5', null].map((maxTunnels) => network({ maxTunnels })),
  network({ allowedDomains: '*' }), network({ allowUnixSockets: true }), network({ allowLocalBinding: 'true' }),
  ...['', '~bob', '~bob/x', '~~', 'a\u0000b', 5, null, ['/a']].map((entry) => files({ denyRead: [entry] })),
  files({ allowWrite: '/x' }), files({ defaultRead: 'Deny' }), files({ defaultRead: true }), files({ allowGitConfig: 1 }),
  ...['hooks', '.git', '.VSCODE', '.vscode//', '', 5].map((entry) => files({ allowProtected: [entry] })),
  files({ writableCwd: 0 }), files({ privateTmp: 'true' }), files({ packageCache: null }),
  ...['memoryBytes', 'processes', 'cpuSeconds', 'fileBytes', 'openFiles']
    .flatMap((key) => [0, -1, 0.5, '1', null, 2 ** 60].map((value) => ({ limits: { [key]: value } }))),
  { limits: { memory: 1 } },
  files({ denyRead: Array(10001).fill('x') }), files({ denyWrite: ['x'.repeat(4096)] }),
  { monitorReads: 0 }, { monitorViolations: null }, { violationLog: 'v' }, { violationLog: '~bob' }, { violationLog: '' },
  { backend: 'docker' },
  { ignoreViolations: [] }, { ignoreViolations: { '': [] } }, { ignoreViolations: { x: 'y' } }, { ignoreViolations: { x: [''] } },
  network({ mitmProxy: {} }), network({ httpProxyPort: 8080 }), network({ socksProxyPort: 1 }), network({ strictAllowlist: 1 }),
  network({ parentProxy: { http: 'http://proxy.example.com' } }), network({ deniedResolvedAddresses: ['192.0.2.7'] }),
  { credentials: { envVars: [{ name: 'TOKEN', mode: 'deny' }] } },
];

/** The addon refuses what the schema lets pass: each with why no schema says it. */
const BEYOND = [
  ['an address is read in every spelling that C libraries take', network({ allowedDomains: ['192.0.2.256'] })],
  ['an IPv6 address has a grammar of its own', network({ allowedDomains: ['2001:db8::7::'] })],
  ['an address has no subdomains, whatever its spelling', network({ allowedDomains: ['*.192.0.2.7'] })],
  ['the length of a whole name', network({ allowedDomains: [`${'a.'.repeat(130)}example.com`] })],
  ['the bits behind a prefix length', network({ allowedIPs: ['192.0.2.7/24'] })],
  ['the greatest prefix length', network({ allowedIPs: ['192.0.2.0/33'] })],
  ['the host of a proxy is a name or an address', network({ upstreamProxy: 'http://a b:80' })],
  ['the bytes of a path, where characters have several', files({ denyRead: ['é'.repeat(3000)] })],
  ['one list against another', network({ deniedDomains: ['*'], allowedDomains: ['192.0.2.7'] })],
];

const ajv = new Ajv({ strict: true, allErrors: false });
const validate = ajv.compile(schema);

/** Nobody is asked about connections here: a schema knows nothing of that. */
function isSettings(document) {
  try {
    addon.parseSettings(Buffer.from(JSON.stringify(document)), false);
    return true;
  } catch (error) {
    if (error.line === undefined) throw error;
    return false;
  }
}

const shown = (document) => JSON.stringify(document).slice(0, 100);

t.test('the schema is what the table says', (t) => {
  t.equal(fs.readFileSync(FILE, 'utf8'), schemaText(), 'else: node scripts/settings-schema.js');
  t.end();
});

t.test('schema and addon agree', (t) => {
  const check = (documents, wanted) => {
    for (const document of documents) {
      t.equal(validate(document), wanted, `schema: ${shown(document)}`);
      t.equal(isSettings(document), wanted, `addon: ${shown(document)}`);
    }
  };
  check(VALID, true);
  check(INVALID, false);
  t.end();
});

t.test('what no schema says, the addon refuses', (t) => {
  for (const [why, document] of BEYOND) t.ok(validate(document) && !isSettings(document), why);
  t.end();
});

t.test('every key of the table is in the corpus', (t) => {
  const table = JSON.parse(addon.settingsTable());
  const used = new Set();
  for (const document of [...VALID, ...INVALID].filter((each) => typeof each === 'object' && each !== null)) {
    for (const [key, value] of Object.entries(document)) {
      used.add(key);
      if (typeof value === 'object' && value !== null) for (const inner of Object.keys(value)) used.add(`${key}.${inner}`);
    }
  }
  const paths = [...table.options.filter((row) => !row.later || row.group === ''), ...table.foreign];
  const missing = paths.map(({ group, key }) => (group === '' ? key : `${group}.${key}`)).filter((each) => !used.has(each));
  t.same(missing, []);
  t.end();
});
