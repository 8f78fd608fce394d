'use strict';

const vm = require('node:vm');
const t = require('tap');
const { buildOptionsDocument, withFilesystemOf } = require('../lib/options.js');
const { loadNative } = require('../lib/native.js');

const { addon } = loadNative();
const schema = addon.optionSchema();

const build = (options) => buildOptionsDocument(options, schema);

/** The document as C accepted it. */
function accepted(options) {
  const { json } = build(options);
  addon.makePolicy(json);
  return JSON.parse(json);
}

/** @param {unknown} options @param {string | RegExp} message */
function refuses(test, options, message) {
  const { json } = build(options);
  test.throws(() => addon.makePolicy(json), { name: 'TypeError', message }, String(message));
}

class Base {
  get denyRead() {
    return ['/inherited/getter'];
  }
}

class Config extends Base {
  allowWrite = ['/field'];

  get denyWrite() {
    return ['/getter'];
  }

  helper() {
    return 'no option';
  }
}

t.test('what is left out or undefined is absent', (t) => {
  t.same(accepted(undefined), {});
  t.same(accepted({}), {});
  t.same(accepted(Object.create(null)), {});
  t.same(accepted({ network: undefined, filesystem: { denyRead: undefined }, backend: undefined }), { filesystem: {} });
  t.same(accepted({ ignoreViolations: { '*': undefined, git: ['x'] } }), { ignoreViolations: { git: ['x'] } });
  t.end();
});

t.test('every known option arrives as it was given', (t) => {
  const options = {
    network: {
      allowedDomains: ['*.example.com:443', '192.0.2.7', '[2001:db8::7]:80', '*'],
      deniedDomains: ['bad.example.com'],
      allowUnixSockets: ['/run/x.sock'],
      allowLocalBinding: true,
      allowedIPs: ['192.0.2.0/24', '192.0.2.7:22', '0x7f.1', '2001:db8::/32', '[2001:db8::/32]:443'],
      upstreamProxy: 'http://user:secret@proxy.example.com:3128',
      maxTunnels: 65536,
    },
    filesystem: { denyRead: ['~', 'é\n"\\\u2028'], allowWrite: ['./out'], denyWrite: ['/etc'] },
    monitorViolations: false,
    ignoreViolations: { '*': ['a'], 'git status': [] },
    monitorReads: true,
    violationLog: '~/violations.jsonl',
  };
  t.same(accepted(options), options);
  t.end();
});

t.test('keys that are inherited, getters or class members are honoured', (t) => {
  const inherited = Object.create({ denyRead: ['/proto'] });
  t.same(accepted({ filesystem: inherited }).filesystem.denyRead, ['/proto']);

  const { filesystem } = accepted({ filesystem: new Config() });
  t.same(filesystem, { denyRead: ['/inherited/getter'], allowWrite: ['/field'], denyWrite: ['/getter'] });

  const hidden = Object.defineProperty({}, 'denyRead', { value: ['/hidden'], enumerable: false });
  t.same(accepted({ filesystem: hidden }).filesystem.denyRead, ['/hidden']);

  t.same(accepted(new (class { filesystem = { denyRead: ['/x'] }; })()), { filesystem: { denyRead: ['/x'] } });
  const base = { git: ['inherited'] };
  t.same(accepted({ ignoreViolations: Object.create(base) }).ignoreViolations, base);

  const proxied = new Proxy({ denyRead: new Proxy(['/p'], {}) }, {});
  t.same(accepted({ filesystem: proxied }).filesystem.denyRead, ['/p']);
  t.same(accepted(vm.runInNewContext('({ filesystem: { denyRead: ["/realm"] }, ignoreViolations: { a: ["b"] } })')), {
    filesystem: { denyRead: ['/realm'] },
    ignoreViolations: { a: ['b'] },
  });
  t.same(accepted({ filesystem: { denyRead: Object.freeze(['/f']), [Symbol('note')]: 1 } }).filesystem.denyRead, ['/f']);
  t.end();
});

t.test('an onAskHost function is handed on beside the document', (t) => {
  const onAskHost = async () => true;
  const built = build({ network: { onAskHost } });
  t.equal(built.onAskHost, onAskHost);
  t.equal(built.json, '{"network":{"onAskHost":true}}');
  addon.makePolicy(built.json);
  t.equal(build({}).onAskHost, undefined);
  t.end();
});

t.test('options that are no object are refused', (t) => {
  const wrong = [
    [null, 'null'],
    [[], 'an array'],
    ['/x', '"/x"'],
    [7, '7'],
    [true, 'true'],
    [10n, 'a BigInt'],
    [Symbol('s'), 'a symbol'],
    [() => ({}), 'a function'],
    [new Set(), 'a Set'],
    [new Map([['filesystem', {}]]), 'a Map'],
    [new WeakMap(), 'a WeakMap'],
    [new Date(0), 'a Date'],
    [/x/, 'a RegExp'],
    [new Error('x'), 'an Error'],
    [Promise.resolve({}), 'a Promise'],
    [new Uint8Array(2), 'a Uint8Array'],
    [new ArrayBuffer(2), 'an ArrayBuffer'],
    [new String('x'), 'a String'],
    [new URLSearchParams('a=b'), 'a URLSearchParams'],
    [(function () { return arguments; })(1), 'an Arguments'],
    [new (class Settings extends Map {})(), 'a Settings'],
    [Object.setPrototypeOf(new Set(['x']), Config.prototype), 'a Config'],
    [new Proxy(new Set(), {}), 'a Set'],
  ];
  for (const [value, found] of wrong) {
    refuses(t, value, `options: expected an object, found ${found}`);
    if (value !== null) refuses(t, { filesystem: value }, `filesystem: expected an object, found ${found}`);
  }
  t.end();
});

t.test('lists that are no array of strings are refused', (t) => {
  const place = 'filesystem.denyRead';
  const holes = ['/a'];
  holes[2] = '/c';
  const wrong = [
    [new Set(['/x']), ': expected a list of paths, found a Set'],
    ['/x', ': expected a list of paths, found "/x"'],
    [null, ': expected a list of paths, found null'],
    [{ 0: '/x', length: 1 }, ': expected a list of paths, found an object'],
    [true, ': expected a list of paths, found true'],
    [() => ['/x'], ': expected a list of paths, found a function'],
    [['/x'].values(), /^filesystem\.denyRead: expected a list of paths, found an /],
    [new (class Paths {})(), ': expected a list of paths, found a Paths'],
    [['/a', ''], '[1]: expected a path, found "" (it is empty)'],
    [['/a', 5], '[1]: expected a path, found 5'],
    [[NaN], '[0]: expected a path, found NaN'],
    [[-Infinity], '[0]: expected a path, found -Infinity'],
    [[1n], '[0]: expected a path, found a BigInt'],
    [[null], '[0]: expected a path, found null'],
    [[undefined], '[0]: expected a path, found undefined'],
    [holes, '[1]: expected a path, found undefined'],
    [[['/x']], '[0]: expected a path, found an array'],
    [[{}], '[0]: expected a path, found an object'],
    [[Object.create(null)], '[0]: expected a path, found an object'],
    [[new Date(0)], '[0]: expected a path, found a Date'],
    [[new String('/x')], '[0]: expected a path, found a String'],
    [[new URL('file:///x')], '[0]: expected a path, found a URL'],
    [[{ toString: () => '/x', toJSON: () => '/x' }], '[0]: expected a path, found an object'],
    [[Symbol('/x')], '[0]: expected a path, found a symbol'],
    [['/a\0b'], '[0]: expected a path, found "/a\\u0000b" (it contains a NUL character)'],
    [['/\ud800'], '[0]: expected a path, found a string that is not well-formed Unicode'],
    [['~root/x'], '[0]: expected a path, found "~root/x" (only "~" and "~/…" stand for a home directory)'],
    [['/'.repeat(70000)], '[0]: expected a path, found a string of 70000 characters'],
    [new Array(10001).fill('/x'), ': expected at most 10000 entries, found 10001'],
    [new Array(2 ** 32 - 1), ': expected at most 10000 entries, found 10001'],
  ];
  for (const [denyRead, message] of wrong) {
    refuses(t, { filesystem: { denyRead } }, typeof message === 'string' ? place + message : message);
  }
  refuses(t, { filesystem: { allowWrite: new Set(['/x']) } }, 'filesystem.allowWrite: expected a list of paths, found a Set');
  t.end();
});

t.test('wrong network options are refused', (t) => {
  const pattern = 'expected a domain pattern, found';
  refuses(t, { network: { allowedDomains: ['a.example.com', '*', 'http://x'] } },
    `network.allowedDomains[2]: ${pattern} "http://x" (schemes are not part of a pattern)`);
  refuses(t, { network: { deniedDomains: new Set(['x']) } },
    'network.deniedDomains: expected a list of domain patterns, found a Set');
  refuses(t, { network: { deniedDomains: ['bücher.example.com'] } },
    `network.deniedDomains[0]: ${pattern} "bücher.example.com" (write names with other letters than ASCII in their A-label form, xn--…)`);
  refuses(t, { network: { allowLocalBinding: 'yes' } }, 'network.allowLocalBinding: expected true or false, found "yes"');
  refuses(t, { network: { allowLocalBinding: new Boolean(false) } },
    'network.allowLocalBinding: expected true or false, found a Boolean');
  for (const [onAskHost, found] of [[true, 'true'], [null, 'null'], ['x', 'a string'], [{}, 'an object'], [1, '1']]) {
    refuses(t, { network: { onAskHost } }, `network.onAskHost: expected a function, found ${found}`);
  }
  accepted({ network: { allowedIPs: [], upstreamProxy: 'direct', maxTunnels: 1 } });
  const address = 'expected an address or a block of addresses, found';
  refuses(t, { network: { allowedIPs: ['192.0.2.7', 'example.com'] } },
    `network.allowedIPs[1]: ${address} "example.com" (it is not an address; names are for allowedDomains)`);
  refuses(t, { network: { allowedIPs: ['192.0.2.7/24'] } },
    `network.allowedIPs[0]: ${address} "192.0.2.7/24" (bits behind the prefix length are set: did you mean 192.0.2.0/24?)`);
  refuses(t, { network: { allowedIPs: new Set() } },
    'network.allowedIPs: expected a list of addresses and blocks of them, found a Set');
  const proxy = 'network.upstreamProxy: expected "direct" or the URL of an HTTP proxy, found';
  refuses(t, { network: { upstreamProxy: 'socks5://user:secret@proxy.example.com' } },
    `${proxy} a string (the connection to the proxy is plain HTTP: http://host:port)`);
  refuses(t, { network: { upstreamProxy: new URL('http://proxy.example.com') } }, `${proxy} a URL`);
  refuses(t, { network: { upstreamProxy: null } }, `${proxy} null`);
  const count = 'network.maxTunnels: expected a whole number from 1 to 65536, found';
  for (const [maxTunnels, found] of [[0, '0'], [65537, '65537'], [1.5, '1.5'], [NaN, 'NaN'], [Infinity, 'Infinity'],
    [-1, '-1'], ['8', '"8"'], [8n, 'a BigInt'], [new Number(8), 'a Number'], [true, 'true'], [null, 'null']]) {
    refuses(t, { network: { maxTunnels } }, `${count} ${found}`);
  }
  refuses(t, { network: null }, 'network: expected an object, found null');
  t.end();
});

t.test('wrong violation options are refused', (t) => {
  refuses(t, { monitorViolations: 1 }, 'monitorViolations: expected true or false, found 1');
  refuses(t, { monitorViolations: 1e21 }, 'monitorViolations: expected true or false, found 1e+21');
  refuses(t, { monitorViolations: () => true }, 'monitorViolations: expected true or false, found a function');
  refuses(t, { monitorReads: 'yes' }, 'monitorReads: expected true or false, found "yes"');
  const place = 'violationLog: expected an absolute path, found';
  refuses(t, { violationLog: 'log' }, `${place} "log" (a sandbox has no directory that it would be relative to)`);
  refuses(t, { violationLog: '~bob' }, `${place} "~bob" (only "~" and "~/…" stand for a home directory)`);
  refuses(t, { violationLog: new URL('file:///x') }, `${place} a URL`);
  refuses(t, { violationLog: ['/x'] }, `${place} an array`);
  refuses(t, { violationLog: '/\ud800' }, `${place} a string that is not well-formed Unicode`);
  const map = 'ignoreViolations: expected an object of lists of strings, found';
  refuses(t, { ignoreViolations: new Map([['*', ['x']]]) }, `${map} a Map`);
  refuses(t, { ignoreViolations: ['x'] }, `${map} an array`);
  refuses(t, { ignoreViolations: new Config() }, `${map} a Config`);
  refuses(t, { ignoreViolations: { 'a\0b': ['x'] } }, `${map} a key with NUL or a lone surrogate`);
  refuses(t, { ignoreViolations: { '\udfff': ['x'] } }, `${map} a key with NUL or a lone surrogate`);
  refuses(t, { ignoreViolations: { git: 'x' } }, 'ignoreViolations.git: expected a list of non-empty strings, found "x"');
  refuses(t, { ignoreViolations: { 'npm test': ['x', ''] } },
    'ignoreViolations["npm test"][1]: expected a non-empty string, found "" (it is empty)');
  refuses(t, { ignoreViolations: JSON.parse('{"__proto__":"x"}') },
    'ignoreViolations.__proto__: expected a list of non-empty strings, found "x"');
  const many = Object.fromEntries(Array.from({ length: 10002 }, (_, i) => [`k${i}`, []]));
  refuses(t, { ignoreViolations: many }, 'ignoreViolations: expected at most 10000 entries, found 10001');
  t.end();
});

t.test('unknown keys are refused wherever they come from', (t) => {
  const unknown = /: expected one of denyRead, allowWrite, .*, found an unknown option$/;
  const path = (name) => new RegExp(`^${name}${unknown.source}`);
  refuses(t, { filesystem: { denyreed: ['/x'] } }, path('filesystem\\.denyreed'));
  refuses(t, { filesystem: Object.create({ denyreed: ['/x'] }) }, path('filesystem\\.denyreed'));
  refuses(t, { filesystem: { denyreed: undefined } }, path('filesystem\\.denyreed'));
  refuses(t, { filesystem: new (class extends Config { denyReads = []; })() }, path('filesystem\\.denyReads'));
  refuses(t, { filesystem: { 'deny\0Read': [] } }, path('filesystem\\["deny\\\\\\\\0Read"\\]'));
  refuses(t, { filesystem: JSON.parse('{"__proto__":{"denyRead":["/x"]}}') }, path('filesystem\\.__proto__'));
  refuses(t, { filesystem: { $unsupported: 'a Set' } }, path('filesystem\\.\\$unsupported'));
  refuses(t, { 'filesystem.denyRead': [] }, /^options\["filesystem\.denyRead"\]: expected one of network, filesystem, /);
  refuses(t, { denyRead: [] }, /^denyRead: expected one of network, /);
  refuses(t, { constructor: 1 }, /^constructor: expected one of network, /);
  t.end();
});

t.test('options about reading and protected names', (t) => {
  const filesystem = { allowRead: ['~/.ssh/known_hosts'], defaultRead: 'deny', allowGitConfig: true, allowProtected: ['.vscode/', '.bashrc'] };
  t.same(accepted({ filesystem }).filesystem, filesystem);
  accepted({ filesystem: { allowRead: [], defaultRead: 'allow', allowGitConfig: false, allowProtected: [] } });
  refuses(t, { filesystem: { allowRead: new Set() } }, 'filesystem.allowRead: expected a list of paths, found a Set');
  refuses(t, { filesystem: { defaultRead: 'none' } }, 'filesystem.defaultRead: expected "allow" or "deny", found "none"');
  refuses(t, { filesystem: { defaultRead: false } }, 'filesystem.defaultRead: expected "allow" or "deny", found false');
  refuses(t, { filesystem: { allowGitConfig: 'yes' } }, 'filesystem.allowGitConfig: expected true or false, found "yes"');
  const name = 'expected a protected name such as ".vscode/", found';
  refuses(t, { filesystem: { allowProtected: ['.vscode/', 'src/'] } }, `filesystem.allowProtected[1]: ${name} "src/"`);
  refuses(t, { filesystem: { allowProtected: ['.git/hooks'] } }, `filesystem.allowProtected[0]: ${name} ".git/hooks" (hooks cannot be freed)`);
  refuses(t, { filesystem: { allowProtected: ['.git/config'] } }, `filesystem.allowProtected[0]: ${name} ".git/config" (see allowGitConfig)`);
  t.end();
});

t.test('limits are whole numbers from 1 on, of 53 bits', (t) => {
  const limits = { memoryBytes: 2 ** 53 - 1, processes: 1, cpuSeconds: 2 ** 32, fileBytes: 1e12, openFiles: 8.0 };
  t.same(accepted({ limits }).limits, limits);
  accepted({ limits: { memoryBytes: undefined } });
  const wanted = 'expected a whole number from 1 to 9007199254740991, found';
  for (const key of Object.keys(limits)) {
    for (const [value, found] of [[0, '0'], [-1, '-1'], [1.5, '1.5'], [2 ** 53, '9.00719925474099e+15'], [NaN, 'NaN'], [8n, 'a BigInt'], ['8', '"8"']]) {
      refuses(t, { limits: { [key]: value } }, `limits.${key}: ${wanted} ${found}`);
    }
  }
  t.end();
});

t.test('options of later versions are refused unless they change nothing', (t) => {
  refuses(t, { backend: 'seatbelt' }, 'backend: not supported by this version');
  accepted({
    backend: 'auto',
  });
  accepted({ backend: 'bwrap' });
  t.end();
});

t.test('each option is read once and what a getter throws comes out as it is', (t) => {
  let reads = 0;
  const filesystem = { get denyRead() { reads += 1; return reads === 1 ? ['/x'] : []; } };
  t.same(accepted({ filesystem }).filesystem.denyRead, ['/x']);
  t.equal(reads, 1);

  const seen = [];
  const list = new Proxy(['/a', '/b'], { get: (target, key) => { seen.push(key); return target[key]; } });
  accepted({ filesystem: { denyWrite: list } });
  t.same(seen, ['length', '0', '1']);

  const failure = new RangeError('not today');
  t.throws(() => build({ get network() { throw failure; } }), failure);
  t.end();
});

/** Calls the function while every object and array has a toJSON. */
function withToJSON(call) {
  const toJSON = { value: () => 'changed', configurable: true };
  const prototypes = [Object.prototype, Array.prototype, String.prototype];
  for (const prototype of prototypes) Object.defineProperty(prototype, 'toJSON', toJSON);
  try {
    return call();
  } finally {
    for (const prototype of prototypes) delete prototype.toJSON;
  }
}

t.test('a toJSON on a prototype changes nothing', (t) => {
  const { json } = withToJSON(() => build({ filesystem: { denyRead: ['/x', 5n] } }));
  t.equal(json, '{"filesystem":{"denyRead":["/x",{"$unsupported":"a BigInt"}]}}');
  t.end();
});

t.test('a document with the file rules of another keeps all else', (t) => {
  const sandbox = build({
    filesystem: { denyRead: ['/theirs'] },
    network: { allowUnixSockets: ['/run/x'], onAskHost: async () => true },
    ignoreViolations: JSON.parse('{"__proto__":["a"]}'),
    violationLog: '/log',
  }).json;
  const own = build({ filesystem: { denyWrite: ['/ours', 'é'] } }).json;
  const mixed = withToJSON(() => withFilesystemOf(sandbox, own));
  addon.makePolicy(mixed);
  t.equal(mixed, sandbox.replace('{"denyRead":["/theirs"]}', '{"denyWrite":["/ours","é"]}'));
  t.same(JSON.parse(withFilesystemOf(sandbox, '{}')).filesystem, undefined);
  t.end();
});

t.test('the document itself is checked', (t) => {
  t.throws(() => addon.makePolicy('{'), { name: 'TypeError', message: /^options: expected one JSON document, / });
  t.throws(() => addon.makePolicy(), { name: 'TypeError', message: 'makePolicy: expected the document as a string' });
  t.throws(() => addon.makePolicy({}), { name: 'TypeError' });
  t.throws(() => addon.makePolicy(' '.repeat(17e6)), { message: /^options: expected at most 16777216 bytes, found 17000000/ });
  t.match(addon.makePolicy('{}'), { handle: Object });
  t.end();
});
