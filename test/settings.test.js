'use strict';
// Settings files: what is read, what is refused and where, how layers become one.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');

const { SettingsError, loadOptions } = require('../lib/settings.js');
const { scratchFolder, startSandbox } = require('./helpers/sandbox');

/** A home and a project, and what writes into them. @param {any} t */
function makePlace(t) {
  const folder = scratchFolder(t);
  const home = path.join(folder, 'home');
  const cwd = path.join(folder, 'project');
  fs.mkdirSync(path.join(home, '.config', 'os-sandbox'), { recursive: true });
  fs.mkdirSync(cwd);
  const homeFile = path.join(home, '.config', 'os-sandbox', 'settings.json');
  const file = path.join(cwd, 'sandbox.json');
  const write = (name, value) => fs.writeFileSync(name, typeof value === 'string' ? value : JSON.stringify(value));
  const load = (layers = {}) => loadOptions({ home, cwd, flags: {}, ...layers });
  const nothing = { filesystem: { denyWrite: [homeFile] } };
  return { folder, home, cwd, homeFile, file, nothing, write, load };
}

/** What the call throws. */
function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

t.test('the file below the home, the one that is named and the flags become one document', (t) => {
  const { home, homeFile, file, nothing, write, load } = makePlace(t);
  t.same(load(), { options: nothing, warnings: [] }, 'no file is no layer');
  write(homeFile, {
    network: { allowedDomains: ['home.example.com'], deniedDomains: ['bad.example.com'], maxTunnels: 5 },
    filesystem: { denyRead: ['~/private'], allowWrite: ['/home-root'], defaultRead: 'deny' },
    ignoreViolations: { npm: ['a'], git: ['b'] },
  });
  write(file, {
    allowPty: true,
    network: { allowedDomains: ['file.example.com'], deniedDomains: ['worse.example.com'] },
    filesystem: { denyRead: ['secrets'], defaultRead: 'allow' },
    ignoreViolations: { git: ['c'] },
  });
  const flags = { network: { allowedDomains: ['flag.example.com'] }, filesystem: { denyWrite: ['.env'] } };
  t.same(load({ settings: 'sandbox.json', flags }), {
    options: {
      network: {
        allowedDomains: ['flag.example.com'],
        deniedDomains: ['bad.example.com', 'worse.example.com'],
        maxTunnels: 5,
      },
      filesystem: {
        denyRead: ['~/private', 'secrets'],
        allowWrite: ['/home-root'],
        defaultRead: 'deny',
        denyWrite: ['.env', homeFile, file],
      },
      ignoreViolations: { npm: ['a'], git: ['c'] },
    },
    warnings: [`${file}:1:2: allowPty has no effect: a terminal needs no permission`],
  });
  t.same(load({ noHome: true, flags }).options, { ...flags, filesystem: { denyWrite: ['.env', homeFile] } }, 'the home can be left out');
  fs.renameSync(homeFile, path.join(home, 'other.json'));
  t.same(load({ settings: '~/other.json' }).options.network.maxTunnels, 5, '~ is the home');
  t.end();
});

t.test('no file of the project, and none of another program, is looked for', (t) => {
  const { home, cwd, nothing, write, load } = makePlace(t);
  fs.mkdirSync(path.join(cwd, '.config', 'os-sandbox'), { recursive: true });
  for (const folder of [home, cwd]) write(path.join(folder, '.srt-settings.json'), 'not JSON');
  write(path.join(cwd, '.config', 'os-sandbox', 'settings.json'), 'not JSON');
  t.same(load(), { options: nothing, warnings: [] });
  t.end();
});

t.test('an error names file, line and column', (t) => {
  const { homeFile, file, write, load } = makePlace(t);
  const cases = [
    ['', 1, 1, 'expected a JSON object, found an empty file'],
    ['{"network": {}}\n\0', 2, 1, /^expected JSON, found an error/],
    ['{"filesystem": {"denyRead": ["ü", "é"],\n  x', 2, 3, /^expected JSON, found an error/],
    ['{\n  "network": {"allowedDomains": ["a.example.com", "b.example.com", "c/d"]}}', 2, 68,
      /^network\.allowedDomains\[2\]: expected a domain pattern, found "c\/d"/],
    ['{"filesystem": {"denyreed": []}}', 1, 17,
      'filesystem.denyreed: expected a known key, found an unknown one (did you mean filesystem.denyRead?)'],
  ];
  for (const [text, line, column, reason] of cases) {
    for (const name of [file, homeFile]) {
      write(name, text);
      const error = thrown(() => load(name === file ? { settings: file } : {}));
      t.ok(error instanceof SettingsError, JSON.stringify(text));
      t.match(error, { name: 'SettingsError', file: name, line, column });
      const prefix = `${name}:${line}:${column}: `;
      t.equal(error.message.slice(0, prefix.length), prefix);
      t.match(error.message.slice(prefix.length), reason);
      fs.rmSync(name);
    }
  }
  t.end();
});

t.test('what cannot be read is an error, and never waited for', (t) => {
  const { cwd, homeFile, nothing, load } = makePlace(t);
  const file = path.join(cwd, 'x');
  const message = (settings) => thrown(() => load({ settings })).message;
  const huge = path.join(cwd, 'huge');
  fs.writeFileSync(huge, '');
  fs.truncateSync(huge, 2 ** 40);
  execFileSync('mkfifo', [path.join(cwd, 'fifo')]);
  fs.symlinkSync('loop', path.join(cwd, 'loop'));
  t.equal(message('x'), `${file}: cannot be read: ENOENT`);
  t.equal(message('.'), `${cwd}: expected a file, found something else`);
  t.equal(message('fifo'), `${path.join(cwd, 'fifo')}: expected a file, found something else`);
  t.equal(message('/dev/zero'), '/dev/zero: expected a file, found something else');
  t.equal(message('loop'), `${path.join(cwd, 'loop')}: cannot be read: ELOOP`);
  t.equal(message('/proc/self/mem'), '/proc/self/mem: cannot be read: EIO');
  t.equal(message('huge'), `${huge}:1:1: expected at most 16 MiB`);
  t.equal(message('a\u202e\nb'), `${cwd}/a\\u{202e}\\u{a}b: cannot be read: ENOENT`);

  fs.symlinkSync('nowhere', homeFile);
  t.match(thrown(load).message, `${homeFile}: cannot be read: ENOENT`, 'a symlink of the home that leads nowhere');
  const folder = path.dirname(homeFile);
  fs.rmSync(folder, { recursive: true });
  fs.symlinkSync('nowhere', folder);
  t.match(thrown(load).message, `${folder}: cannot be read: ENOENT`, 'a folder that leads nowhere');
  fs.rmSync(folder);
  t.same(load().options, nothing, 'no folder');
  fs.writeFileSync(folder, '');
  t.same(load().options, nothing, 'a file in its place');
  t.end();
});

t.test('a file that everybody may change is warned of', (t) => {
  const { cwd, file, write, load } = makePlace(t);
  const warning = `${file}: others may change it: it, or its folder, is writable by everybody`;
  write(file, {});
  fs.chmodSync(file, 0o666);
  t.same(load({ settings: file }).warnings, [warning]);
  fs.chmodSync(file, 0o664);
  t.same(load({ settings: file }).warnings, []);
  fs.chmodSync(cwd, 0o777);
  t.same(load({ settings: file }).warnings, [warning]);
  fs.chmodSync(cwd, 0o1777);
  t.same(load({ settings: file }).warnings, [], 'in a folder like /tmp nobody can replace it');
  t.end();
});

t.test('flags that make no sense are a TypeError by their path', (t) => {
  const { load } = makePlace(t);
  const error = thrown(() => load({ flags: { filesystem: { denyRead: ['~bob'] } } }));
  t.match(error, { name: 'TypeError', message: /^filesystem\.denyRead\[0\]: expected a path/ });
  t.end();
});

t.test('no layering loses a denial', (t) => {
  const { homeFile, file, write, load } = makePlace(t);
  let state = 1;
  const random = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const some = (make) => Array.from({ length: random(3) }, () => make(random(9)));
  const maybe = (value) => (random(2) ? value : undefined);
  const layer = () => ({
    network: maybe({
      deniedDomains: maybe(some((n) => `${n}.example.com`)),
      allowedDomains: maybe(some((n) => `*.${n}.example.com`)),
    }),
    filesystem: maybe({
      denyRead: maybe(some((n) => `/r${n}`)),
      denyWrite: maybe(some((n) => `/w${n}`)),
      allowRead: maybe(some((n) => `/r${n}/x`)),
      allowWrite: maybe(some((n) => `/a${n}`)),
      defaultRead: maybe(random(2) ? 'deny' : 'allow'),
    }),
    violationLog: maybe(`/log${random(4)}`),
  });
  const LISTS = {
    add: [['network', 'deniedDomains'], ['filesystem', 'denyRead'], ['filesystem', 'denyWrite']],
    replace: [['network', 'allowedDomains'], ['filesystem', 'allowRead'], ['filesystem', 'allowWrite']],
  };
  const lost = [];
  for (let round = 0; round < 200; round++) {
    const layers = [layer(), layer(), layer()];
    write(homeFile, layers[0]);
    write(file, layers[1]);
    const { options } = load({ settings: file, flags: layers[2] });
    const of = (list) => layers.map((each) => each[list[0]]?.[list[1]]).filter((each) => each !== undefined);
    const has = (list, entry) => options[list[0]]?.[list[1]]?.includes(entry);
    const holds = [
      ...LISTS.add.map((list) => of(list).flat().every((entry) => has(list, entry))),
      ...LISTS.replace.map((list) => JSON.stringify(options[list[0]]?.[list[1]]) === JSON.stringify(of(list).at(-1))),
      !of(['filesystem', 'defaultRead']).includes('deny') || options.filesystem.defaultRead === 'deny',
      layers.every(({ violationLog: log }) => !log || log === options.violationLog || has(['filesystem', 'denyWrite'], log)),
    ];
    if (holds.includes(false)) lost.push({ layers, options });
  }
  t.same(lost.slice(0, 1), []);
  t.end();
});

t.test('no command writes the file that it runs under', async (t) => {
  const { cwd, write, load } = makePlace(t);
  const file = path.join(cwd, 'conf', 'sandbox.json');
  fs.mkdirSync(path.dirname(file));
  fs.symlinkSync('conf/sandbox.json', path.join(cwd, 'link.json'));
  write(file, { filesystem: { allowWrite: ['.'] } });
  const before = fs.readFileSync(file, 'utf8');
  const sandbox = await startSandbox(t, load({ settings: 'link.json' }).options);
  const attempts = [
    'echo {} > conf/sandbox.json', 'rm -f conf/sandbox.json', 'echo {} > new && mv new conf/sandbox.json', 'mv conf moved',
    'rm -f link.json', 'ln -sf new link.json', 'mv link.json moved',
  ];
  for (const attempt of attempts) {
    const { exitCode } = await sandbox.machine(cwd).run(['sh', '-c', attempt]);
    t.not(exitCode, 0, attempt);
  }
  t.equal(fs.readFileSync(path.join(cwd, 'link.json'), 'utf8'), before);
  const { exitCode } = await sandbox.machine(cwd).run(['sh', '-c', 'echo x > other']);
  t.equal(exitCode, 0, 'beside it they write');
});

t.test('no command makes the file of the home, where there is none', async (t) => {
  const { home, cwd, homeFile, load } = makePlace(t);
  // As people keep their configuration in a repository.
  fs.rmSync(path.join(home, '.config'), { recursive: true });
  fs.mkdirSync(path.join(cwd, 'config'));
  fs.symlinkSync(path.join(cwd, 'config'), path.join(home, '.config'));
  const inHome = ['mkdir -p c/os-sandbox && echo {} > c/os-sandbox/settings.json && mv c .config', 'mkdir c; ln -s c .config', 'mkdir -p .config/os-sandbox'];
  const inProject = ['mkdir -p config/os-sandbox && echo {} > config/os-sandbox/settings.json', 'mkdir d; echo {} > d/settings.json; rmdir config/os-sandbox; mv d config/os-sandbox', 'ln -s ../d config/os-sandbox'];
  const attempt = async (layers, folder, scripts) => {
    const sandbox = await startSandbox(t, load(layers).options);
    await sandbox.machine(folder).run(['sh', '-c', scripts.map((script) => `(${script})`).join('; ')]);
    t.throws(() => fs.statSync(homeFile), { code: 'ENOENT' });
  };
  await attempt({}, cwd, inProject);
  await attempt({ noHome: true }, cwd, inProject);
  fs.rmSync(path.join(home, '.config'));
  await attempt({}, home, inHome);
});
