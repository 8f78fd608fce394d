'use strict';

const t = require('tap');
const { execFileSync } = require('node:child_process');
const path = require('node:path');

const { unsupportedRuntime } = require('../lib/runtime.js');

const entry = path.join(__dirname, '..', 'lib', 'index.js');

t.test('only Node.js on Linux and macOS can have a sandbox, and the reason names what it found', async (t) => {
  const versions = { node: '24.0.0' };
  t.equal(unsupportedRuntime({ versions, platform: 'linux' }), undefined);
  t.equal(unsupportedRuntime({ versions, platform: 'darwin' }), undefined);
  t.equal(unsupportedRuntime({ versions, platform: 'win32' }), 'unsupported platform: win32 (macOS/Linux only)');
  t.equal(unsupportedRuntime({ versions: { ...versions, bun: '1.4.5' }, platform: 'linux' }), 'unsupported runtime: bun 1.4.5 (Node.js only)');
  t.equal(unsupportedRuntime({ versions: { ...versions, deno: '2.9.0' }, platform: 'win32' }), 'unsupported runtime: deno 2.9.0 (Node.js only)');
});

t.test('start() says so before it loads the addon, and commands run all the same', async (t) => {
  const script = `
    Object.defineProperty(process, 'platform', { value: 'sunos' });
    process.dlopen = () => { throw new Error('the addon was loaded'); };
    const { OsSandbox } = require(${JSON.stringify(entry)});
    OsSandbox.start({ filesystem: 'not looked at' }).then(async (sandbox) => {
      const { stdout } = await sandbox.machine().run(['echo', 'ran']);
      console.log(JSON.stringify({ status: sandbox.status, stdout }));
    });`;
  const answer = JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
  t.strictSame(answer, { status: { enabled: false, reason: 'unsupported platform: sunos (macOS/Linux only)' }, stdout: 'ran\n' });
});
