'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const t = require('tap');
const { FileExistsError, StaleFileError } = require('../lib/errors');
const { LocalMachine } = require('../lib/local-machine');

const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65534;
const OTHER_GROUP = 54321;

/** A directory of its own, the machine in it, and short ways to look at its files. */
function setUp(t) {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'machine-files-')));
  t.teardown(() => fs.rmSync(dir, { recursive: true, force: true }));
  const at = (name) => path.join(dir, name);
  return {
    dir,
    at,
    machine: new LocalMachine(dir),
    put: (name, text = '') => fs.writeFileSync(at(name), text),
    get: (name) => fs.readFileSync(at(name), 'utf8'),
    mode: (name) => fs.statSync(at(name)).mode & 0o7777,
  };
}

/** Writes "new" to "file" as a user whom file permissions bind; gives "written" or the code of the error. */
function writeAsPlainUser(dir) {
  if (IS_ROOT) fs.chownSync(dir, NOBODY, NOBODY);
  const script = `
    const { LocalMachine } = require(${JSON.stringify(require.resolve('../lib/local-machine'))});
    const machine = new LocalMachine(${JSON.stringify(dir)});
    if (${IS_ROOT}) {
      process.setgroups([${OTHER_GROUP}]);
      process.setgid(${NOBODY});
      process.setuid(${NOBODY});
    }
    machine.writeText('file', 'new').then(() => console.log('written'), (error) => console.log(error.code));`;
  // Without the test runner's preload, which writes into the checkout.
  const argv = ['-u', 'NODE_OPTIONS', process.execPath, '-e', script];
  return execFileSync('env', argv, { encoding: 'utf8' }).trim();
}

t.test('fileInfo', async (t) => {
  const { dir, at, machine, put } = setUp(t);
  put('file', 'hello');
  fs.symlinkSync('file', at('link'));
  fs.symlinkSync('nowhere', at('dangling'));
  execFileSync('mkfifo', [at('fifo')]);

  t.test('tells kind, size and time', async (t) => {
    const { mtimeMs } = fs.statSync(at('file'));
    t.strictSame(await machine.fileInfo('file'), { kind: 'file', size: 5, mtimeMs });
    t.equal((await machine.fileInfo(dir)).kind, 'dir');
    t.equal((await machine.fileInfo('fifo')).kind, 'other');
  });
  t.test('follows symlinks unless told not to', async (t) => {
    t.equal((await machine.fileInfo('link')).kind, 'file');
    t.equal((await machine.fileInfo('link', { followSymlinks: true })).size, 5);
    t.equal((await machine.fileInfo('link', { followSymlinks: false })).kind, 'symlink');
    t.equal((await machine.fileInfo('dangling', { followSymlinks: false })).kind, 'symlink');
    await t.rejects(machine.fileInfo('dangling'), { code: 'ENOENT' });
  });
  t.test('has no time for a file dated 0', async (t) => {
    put('old');
    fs.utimesSync(at('old'), 0, 0);
    t.strictSame(await machine.fileInfo('old'), { kind: 'file', size: 0 });
  });
  t.test('fails with the errno of the system', async (t) => {
    await t.rejects(machine.fileInfo('missing'), { code: 'ENOENT', syscall: 'stat', path: at('missing') });
    await t.rejects(machine.fileInfo('file/below'), { code: 'ENOTDIR' });
  });
});

t.test('listDir gives names and kinds, symlinks as themselves', async (t) => {
  const { at, machine, put } = setUp(t);
  put('.hidden');
  put('file');
  fs.mkdirSync(at('sub'));
  fs.symlinkSync('sub', at('link'));
  execFileSync('mkfifo', [at('fifo')]);
  const entries = await machine.listDir('.');
  t.strictSame(entries.sort((a, b) => (a.name < b.name ? -1 : 1)), [
    { name: '.hidden', kind: 'file' },
    { name: 'fifo', kind: 'other' },
    { name: 'file', kind: 'file' },
    { name: 'link', kind: 'symlink' },
    { name: 'sub', kind: 'dir' },
  ]);
  t.same(await machine.listDir('sub'), []);
  await t.rejects(machine.listDir('missing'), { code: 'ENOENT' });
  await t.rejects(machine.listDir('file'), { code: 'ENOTDIR' });
});

t.test('realpath resolves every symlink, and fails where there is nothing', async (t) => {
  const { dir, at, machine } = setUp(t);
  fs.mkdirSync(at('a/b'), { recursive: true });
  fs.symlinkSync('a', at('link'));
  t.equal(await machine.realpath('link/b'), at('a/b'));
  t.equal(await machine.realpath('.'), dir);
  await t.rejects(machine.realpath('missing'), { code: 'ENOENT' });
});

t.test('mkdir', async (t) => {
  const { at, machine, put } = setUp(t);
  put('file');
  fs.mkdirSync(at('dir'));
  fs.symlinkSync('dir', at('link'));
  fs.symlinkSync('nowhere', at('dangling'));

  const every = [{}, { parents: true }, { existOk: true }, { parents: true, existOk: true }];
  t.test('makes a directory in every mode', async (t) => {
    for (const [index, options] of every.entries()) {
      await machine.mkdir(`new${index}`, options);
      t.ok(fs.statSync(at(`new${index}`)).isDirectory());
    }
  });
  t.test('finds a file in its place in every mode', async (t) => {
    for (const options of every) {
      await t.rejects(machine.mkdir('file', options), { code: 'EEXIST' });
      await t.rejects(machine.mkdir('dangling', { existOk: true }), { code: 'EEXIST' });
    }
    await t.rejects(machine.mkdir('file/below', { parents: true, existOk: true }), { code: 'ENOTDIR' });
  });
  t.test('forgives an existing directory with existOk, or like mkdir -p', async (t) => {
    for (const options of every.slice(1)) {
      for (const name of ['dir', 'link', '.']) await t.resolves(machine.mkdir(name, options));
    }
    await t.rejects(machine.mkdir('dir'), { code: 'EEXIST' });
  });
  t.test('makes parents only when asked', async (t) => {
    await t.rejects(machine.mkdir('x/y/z'), { code: 'ENOENT' });
    await t.rejects(machine.mkdir('x/y/z', { existOk: true }), { code: 'ENOENT' });
    await machine.mkdir('x/y/z', { parents: true });
    t.ok(fs.statSync(at('x/y/z')).isDirectory());
  });
});

t.test('readBytes', async (t) => {
  const { at, machine, put } = setUp(t);
  put('file', '0123456789');
  const read = async (window) => (await machine.readBytes('file', window)).toString();

  t.test('reads all of a file', async (t) => {
    t.equal(await read(), '0123456789');
    t.ok((await machine.readBytes('file')) instanceof Uint8Array);
  });
  t.test('reads a window, and past the end what exists', async (t) => {
    t.equal(await read({ offset: 2, length: 3 }), '234');
    t.equal(await read({ length: 3 }), '012');
    t.equal(await read({ offset: 7 }), '789');
    t.equal(await read({ offset: 7, length: 2 ** 50 }), '789');
    t.equal(await read({ offset: 10 }), '');
    t.equal(await read({ offset: 2 ** 40, length: 5 }), '');
    t.equal(await read({ offset: 3, length: 0 }), '');
  });
  t.test('reads no more than the window of a huge file', async (t) => {
    fs.closeSync(fs.openSync(at('huge'), 'w'));
    fs.truncateSync(at('huge'), 2 ** 40);
    const before = process.memoryUsage().rss;
    t.equal((await machine.readBytes('huge', { offset: 2 ** 39, length: 600_000 })).length, 600_000);
    t.ok(process.memoryUsage().rss - before < 2 ** 28);
  });
  t.test('reads the start of a pipe', async (t) => {
    execFileSync('mkfifo', [at('fifo')]);
    const writer = spawn('sh', ['-c', `printf 12345 > '${at('fifo')}'`]);
    const written = once(writer, 'close');
    t.equal((await machine.readBytes('fifo', { length: 3 })).toString(), '123');
    await written;
  });
  t.test('refuses a window that makes no sense', async (t) => {
    for (const window of [{ offset: -1 }, { offset: 0.5 }, { length: -1 }, { length: NaN }, { length: 1.5 }]) {
      await t.rejects(machine.readBytes('file', window), RangeError);
    }
  });
  t.test('fails with the errno of the system', async (t) => {
    await t.rejects(machine.readBytes('missing'), { code: 'ENOENT' });
    await t.rejects(machine.readBytes('.'), { code: 'EISDIR' });
    await t.rejects(machine.readBytes('.', { length: 1 }), { code: 'EISDIR' });
  });
});

t.test('writeBytes writes exactly the bytes of the view it is given', async (t) => {
  const { at, machine } = setUp(t);
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  t.equal(await machine.writeBytes('file', bytes.subarray(10, 250)), undefined);
  t.same([...fs.readFileSync(at('file'))], [...bytes.subarray(10, 250)]);
  await machine.writeBytes('file', new Uint8Array(0));
  t.equal(fs.statSync(at('file')).size, 0);
  await t.rejects(machine.writeBytes('file', 'text'), TypeError);
});

t.test('writeText', async (t) => {
  const { machine, at, get } = setUp(t);

  t.test('tells the number of bytes', async (t) => {
    t.strictSame(await machine.writeText('file', 'é😀\n'), { bytesWritten: 7 });
    t.equal(get('file'), 'é😀\n');
    t.strictSame(await machine.writeText('file', ''), { bytesWritten: 0 });
  });
  t.test('turns every line ending to CRLF, none twice', async (t) => {
    t.strictSame(await machine.writeText('file', 'a\nb\r\nc', { lineEndings: 'CRLF' }), { bytesWritten: 7 });
    t.equal(get('file'), 'a\r\nb\r\nc');
    await machine.writeText('file', 'a\nb\r\n', { lineEndings: 'LF' });
    t.equal(get('file'), 'a\nb\r\n');
  });
  t.test('writes other encodings', async (t) => {
    t.strictSame(await machine.writeText('file', 'aé', { encoding: 'utf16le' }), { bytesWritten: 4 });
    t.same([...fs.readFileSync(at('file'))], [0x61, 0, 0xe9, 0]);
    await machine.writeText('file', 'é', { encoding: 'latin1' });
    t.same([...fs.readFileSync(at('file'))], [0xe9]);
    await t.rejects(machine.writeText('file', 'x', { encoding: 'klingon' }), TypeError);
    await t.rejects(machine.writeText('file', 5), TypeError);
  });
});

t.test('a write', async (t) => {
  t.test('keeps the mode, and gives a new file that of the umask', async (t) => {
    const { at, machine, put, mode } = setUp(t);
    for (const bits of [0o600, 0o755, 0o4711, 0o666]) {
      put('file', 'old');
      fs.chmodSync(at('file'), bits);
      await machine.writeText('file', 'new');
      t.equal(mode('file'), bits);
    }
    await machine.writeText('fresh', 'new');
    t.equal(mode('fresh'), 0o666 & ~process.umask());
  });
  t.test('keeps the owner', async (t) => {
    const { at, machine, put, mode } = setUp(t);
    const [uid, gid] = IS_ROOT ? [NOBODY, NOBODY] : [process.getuid(), process.getgid()];
    put('file', 'old');
    fs.chownSync(at('file'), uid, gid);
    fs.chmodSync(at('file'), 0o4755);
    await machine.writeText('file', 'new');
    const stats = fs.statSync(at('file'));
    t.same([stats.uid, stats.gid, mode('file')], [uid, gid, 0o4755]);
  });
  if (IS_ROOT) {
    t.test('by somebody who cannot give a file away keeps the group, and passes no set-id bit on', async (t) => {
      const { dir, at, machine, put, get, mode } = setUp(t);
      put('file', 'old');
      fs.chownSync(at('file'), 0, OTHER_GROUP);
      fs.chmodSync(at('file'), 0o4777);
      t.equal(writeAsPlainUser(dir), 'written');
      const { uid, gid } = fs.statSync(at('file'));
      t.same([get('file'), mode('file'), uid, gid], ['new', 0o777, NOBODY, OTHER_GROUP]);
    });
  }
  t.test('goes through symlinks, also one to nothing yet', async (t) => {
    const { at, machine, put, get } = setUp(t);
    put('file', 'old');
    fs.mkdirSync(at('sub'));
    fs.symlinkSync('../file', at('sub/one'));
    fs.symlinkSync('sub/one', at('two'));
    fs.symlinkSync('sub/fresh', at('dangling'));
    await machine.writeText('two', 'new');
    await machine.writeText('dangling', 'made');
    t.equal(get('file'), 'new');
    t.equal(get('sub/fresh'), 'made');
    for (const link of ['two', 'sub/one', 'dangling']) t.ok(fs.lstatSync(at(link)).isSymbolicLink());
  });
  t.test('replaces the file as a whole, for those who have it open too', async (t) => {
    const { at, machine, put } = setUp(t);
    put('file', 'old');
    const fd = fs.openSync(at('file'));
    await machine.writeText('file', 'new and longer');
    t.equal(fs.readFileSync(fd, 'utf8'), 'old');
    fs.closeSync(fd);
  });
  t.test('makes no parents and leaves nothing behind when it fails', async (t) => {
    const { dir, at, machine } = setUp(t);
    fs.mkdirSync(at('full'));
    await t.rejects(machine.writeText('no/parent', 'x'), { code: 'ENOENT', path: at('no/parent') });
    await t.rejects(machine.writeText('full', 'x'), { code: 'EISDIR' });
    fs.symlinkSync('loop', at('loop'));
    await t.rejects(machine.writeText('loop', 'x'), { code: 'ELOOP' });
    t.same(fs.readdirSync(dir).sort(), ['full', 'loop']);
    await machine.writeText('a'.repeat(255), 'long names too');
    t.equal(fs.readdirSync(dir).length, 3);
  });
  t.test('removes its temporary file when it is refused at the last step', async (t) => {
    const { dir, machine } = setUp(t);
    const writes = [1, 2, 3].map((n) => machine.writeTextIfUnchanged('file', `${n}`, { expected: 'must-not-exist' }));
    await Promise.allSettled(writes);
    t.same(fs.readdirSync(dir), ['file']);
  });
  t.test('needs the permission to write the file', async (t) => {
    const { dir, at, machine, put, get } = setUp(t);
    put('file', 'old');
    fs.chmodSync(at('file'), 0o444);
    t.equal(writeAsPlainUser(dir), 'EACCES');
    t.equal(get('file'), 'old');
    t.same(fs.readdirSync(dir), ['file']);
  });
  t.test('to a device goes into it', async (t) => {
    const { machine } = setUp(t);
    t.same(await machine.writeText('/dev/null', 'x'), { bytesWritten: 1 });
    t.ok(fs.statSync('/dev/null').isCharacterDevice());
  });
});

t.test('writeTextIfUnchanged', async (t) => {
  const versionIn = async (machine) => ({ mtimeMs: (await machine.fileInfo('file')).mtimeMs });

  t.test('makes a file that must not exist, once', async (t) => {
    const { at, machine, get } = setUp(t);
    const options = { expected: 'must-not-exist' };
    const written = await machine.writeTextIfUnchanged('file', 'one', options);
    t.strictSame(written, { bytesWritten: 3, version: await versionIn(machine) });
    await t.rejects(machine.writeTextIfUnchanged('file', 'two', options), FileExistsError);
    await t.rejects(machine.writeTextIfUnchanged('.', 'x', options), { code: 'FILE_ALREADY_EXISTS' });
    await t.rejects(machine.writeTextIfUnchanged('no/parent', 'x', options), { code: 'ENOENT', path: at('no/parent') });
    t.equal(get('file'), 'one');
  });
  t.test('writes over the version that was read, and gives the next one', async (t) => {
    const { machine, put, get } = setUp(t);
    put('file', 'one');
    let version = await versionIn(machine);
    for (const text of ['two', 'three', 'four']) {
      const written = await machine.writeTextIfUnchanged('file', text, { expected: version });
      t.equal(get('file'), text);
      t.not(written.version.mtimeMs, version.mtimeMs);
      ({ version } = written);
    }
    t.strictSame(version, await versionIn(machine));
  });
  t.test('refuses a file that is gone, or moved on', async (t) => {
    const { at, machine, put, get } = setUp(t);
    put('file', 'one');
    const expected = await versionIn(machine);
    await machine.writeText('file', 'other');
    await t.rejects(machine.writeTextIfUnchanged('file', 'x', { expected }), StaleFileError);
    t.equal(get('file'), 'other');
    fs.rmSync(at('file'));
    const both = { expected, expectedContent: '' };
    await t.rejects(machine.writeTextIfUnchanged('file', 'x', both), { code: 'FILE_MODIFIED_SINCE_READ' });
    await t.rejects(machine.writeTextIfUnchanged('no/parent', 'x', both), StaleFileError);
  });
  t.test('accepts a moved or unknown time when the content is the expected one', async (t) => {
    const { at, machine, put, get } = setUp(t);
    const write = (text, options) => machine.writeTextIfUnchanged('file', text, options);
    for (const expected of [{ mtimeMs: 5 }, {}, { mtimeMs: undefined }]) {
      put('file', '\uFEFFa\r\nb\n');
      await t.rejects(write('x', { expected }), StaleFileError);
      await t.rejects(write('x', { expected, expectedContent: 'a\nb' }), StaleFileError);
      await write('x', { expected, expectedContent: 'a\nb\n' });
      t.equal(get('file'), 'x');
    }
    put('file', 'old');
    fs.utimesSync(at('file'), 0, 0);
    await t.rejects(write('x', { expected: { mtimeMs: 0 } }), StaleFileError);
    put('file', Buffer.from('aé', 'latin1'));
    await write('x', { expected: {}, expectedContent: 'aé', encoding: 'latin1', lineEndings: 'CRLF' });
    t.equal(get('file'), 'x');
  });
  t.test('lets exactly one of many writers with the same version win', async (t) => {
    const { machine, put, get } = setUp(t);
    const winnersOf = async (options) => {
      const texts = Array.from({ length: 8 }, (_, index) => `writer ${index} `.repeat(index * 5000 + 1));
      const writes = texts.map((text) => machine.writeTextIfUnchanged('file', text, options));
      const outcomes = await Promise.allSettled(writes);
      const winners = texts.filter((_, index) => outcomes[index].status === 'fulfilled');
      t.equal(get('file'), winners[0]);
      return winners.length;
    };
    t.equal(await winnersOf({ expected: 'must-not-exist' }), 1);
    for (let round = 0; round < 10; round++) {
      t.equal(await winnersOf({ expected: await versionIn(machine) }), 1);
      put('file', 'same');
      t.equal(await winnersOf({ expected: {}, expectedContent: 'same' }), 1);
    }
  });
});
