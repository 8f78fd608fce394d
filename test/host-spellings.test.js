'use strict';
// Hosts in thousands of spellings: what the C core takes for one host is one host to Node's URL parser, and the reverse.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const SOURCES = [
  'test/helpers/read_hosts.c',
  'csrc/policy/network_target.c',
  'csrc/policy/domain_pattern.c',
  'csrc/policy/ip_address.c',
  'csrc/base/error.c',
];
const SANITIZE = ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined', '-g', '-O1'];
const COUNT = 20000;

/** @param {string} folder where the program goes */
function compileReader(folder) {
  const program = path.join(folder, 'read_hosts');
  execFileSync('cc', ['-std=gnu17', '-D_GNU_SOURCE', '-Icsrc', ...SANITIZE, '-o', program, ...SOURCES], { cwd: ROOT });
  return program;
}

/** Random numbers below a limit that are the same in every run (mulberry32). @param {number} seed */
function makeRandom(seed) {
  let state = seed;
  return (/** @type {number} */ below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** @typedef {(below: number) => number} Random */

/** @template T @param {Random} random @param {readonly T[]} from @returns {T} */
const pick = (random, from) => from[random(from.length)];

/** Each letter in either case. @param {Random} random @param {string} text */
const anyCase = (random, text) => [...text].map((c) => (random(2) ? c.toUpperCase() : c.toLowerCase())).join('');

/** A number as C and URLs read it: decimal, octal or hex, with zeros before it. @param {Random} random @param {number} value */
function spellNumber(random, value) {
  const zeros = '0'.repeat(random(4) === 0 ? random(5) : 0);
  return pick(random, [
    () => String(value),
    () => String(value),
    () => `0${zeros}${value.toString(8)}`,
    () => anyCase(random, `0x${zeros}${value.toString(16)}`),
  ])();
}

/** An IPv4 address, most often one that is in reach: [what it is, how it is written]. @param {Random} random */
function spellV4(random) {
  const bytes = Array.from({ length: 4 }, () => pick(random, [0, 1, 7, 8, 9, 10, 127, 169, 254, 255, random(256), random(256)]));
  const parts = 1 + random(4);
  const last = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  const numbers = [...bytes.slice(0, parts - 1), last];
  return { is: bytes.join('.'), written: numbers.map((n) => spellNumber(random, n)).join('.') + (random(8) ? '' : '.') };
}

/** An IPv6 address in brackets: groups with zeros or without, one run of zeros left out, IPv4 at its end. @param {Random} random */
function spellV6(random) {
  const kind = random(4);
  const groups = Array.from({ length: 8 }, () => (random(2) ? 0 : random(0x10000)));
  if (kind === 0) groups.splice(0, 6, 0, 0, 0, 0, 0, 0xffff);
  const texts = groups.map((g) => anyCase(random, g.toString(16).padStart(random(3) ? 1 : 4, '0')));
  if (random(3) === 0) {
    texts.splice(6, 2, [groups[6] >> 8, groups[6] & 255, groups[7] >> 8, groups[7] & 255].join('.'));
  }
  const from = random(texts.length);
  let to = from;
  while (to < Math.min(texts.length, 6) && groups[to] === 0) to += 1;
  if (to === from || random(5) === 0) return `[${texts.join(':')}]`;
  return `[${texts.slice(0, from).join(':')}::${texts.slice(to).join(':')}]`;
}

/** One byte more, less or another. @param {Random} random @param {string} text @param {string} alphabet */
function mutate(random, text, alphabet) {
  const at = random(text.length + 1);
  const byte = random(3) ? pick(random, [...alphabet]) : '';
  return text.slice(0, at) + byte + text.slice(at + random(2));
}

/** An IPv6 address that holds IPv4 in its mapped form is that. @param {string} text as the URL parser writes it */
function unmap(text) {
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text);
  if (!mapped) return text;
  const [high, low] = mapped.slice(1).map((group) => parseInt(group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** What the URL parser makes of a host; names that no resolver takes are none. @param {string} host */
function shownByUrl(host) {
  let name;
  try {
    name = new URL(`http://${host}/`).hostname;
  } catch {
    return '-';
  }
  if (name.startsWith('[')) return unmap(name.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name)) return name;
  name = name.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((label) => label.length >= 1 && label.length <= 63) ? name : '-';
}

const program = compileReader(t.testdir());

/** @param {string[]} hosts */
function shownByCore(hosts) {
  const lines = execFileSync(program, { input: `${hosts.join('\n')}\n`, encoding: 'latin1', maxBuffer: 1 << 26 }).split('\n');
  // C libraries write IPv6 addresses with IPv4 at their end in two ways.
  return lines.slice(0, hosts.length).map((text) => (text.includes(':') ? shownByUrl(`[${text}]`) : text));
}

/** Tells the first few only. @param {any} t @param {string[]} hosts @param {(host: string, at: number) => string} expected */
function agree(t, hosts, expected) {
  const shown = shownByCore(hosts);
  const wrong = hosts.flatMap((host, i) => (shown[i] === expected(host, i) ? [] : [`${host}: ${expected(host, i)}, not ${shown[i]}`]));
  t.same(wrong.slice(0, 10), [], `${wrong.length} of ${hosts.length} differ`);
}

t.test('an IPv4 address is the same in every spelling', (t) => {
  const random = makeRandom(4);
  const addresses = Array.from({ length: COUNT }, () => spellV4(random));
  const hosts = addresses.map(({ written }) => written);
  agree(t, hosts, (_, i) => addresses[i].is);
  agree(t, hosts, shownByUrl);
  t.end();
});

t.test('what is nearly an IPv4 address is an address, a name or none, as URLs have it', (t) => {
  const random = makeRandom(40);
  const alphabet = '0123456789abcdefxX.';
  const near = Array.from({ length: COUNT }, () => mutate(random, spellV4(random).written, alphabet));
  const far = Array.from({ length: COUNT }, () => Array.from({ length: 1 + random(14) }, () => pick(random, [...alphabet])).join(''));
  const hosts = [...near, ...far].filter((host) => host !== '');
  const kinds = hosts.map(shownByUrl);
  t.ok(kinds.filter((kind) => kind === '-').length > 1000, 'many are none');
  t.ok(kinds.filter((kind) => /[a-z]/.test(kind)).length > 1000, 'many are names');
  agree(t, hosts, (_, i) => kinds[i]);
  t.end();
});

t.test('an IPv6 address is the same in every spelling, and near misses are none', (t) => {
  const random = makeRandom(6);
  const right = Array.from({ length: COUNT }, () => spellV6(random));
  t.ok(right.filter((host) => shownByUrl(host) !== '-').length > COUNT * 0.9, 'nearly all are addresses');
  const near = right.map((host) => `[${mutate(random, host.slice(1, -1), '0123456789abcdefF:.')}]`);
  agree(t, [...right, ...near], shownByUrl);
  // Without brackets, as SOCKS clients write them, it is the same host.
  const bare = right.filter((host) => host.includes(':'));
  agree(t, bare.map((host) => host.slice(1, -1)), (host) => shownByUrl(`[${host}]`));
  t.end();
});

t.test('a name is the same in either case and with a dot at its end', (t) => {
  const random = makeRandom(7);
  const label = () => Array.from({ length: 1 + random(70) }, () => pick(random, [...'abcxyz0189-_'])).join('');
  const hosts = Array.from({ length: COUNT }, () => {
    const name = Array.from({ length: 1 + random(6) }, label).join('.').replaceAll('xn--', 'xn-a');
    return anyCase(random, name) + pick(random, ['', '.', '..']);
  });
  agree(t, hosts, shownByUrl);
  t.end();
});

t.test('what URLs decode or fold is no host to the core: nobody after it may read more into it', (t) => {
  const hosts = ['ex%61mple.com', '%31.1.1.1', 'b\u00fccher.example.com', '\uff11.1.1.1', '1\u30021.1.1', 'exa\u00admple.com', '\u212aelvin.example.com'];
  for (const host of hosts) t.not(shownByUrl(host), '-', `${host} is a host in a URL`);
  const bytes = hosts.map((host) => Buffer.from(host).toString('latin1'));
  t.same(
    execFileSync(program, { input: Buffer.from(`${bytes.join('\n')}\n`, 'latin1'), encoding: 'latin1' }).trim().split('\n'),
    hosts.map(() => '-'),
  );
  t.end();
});
