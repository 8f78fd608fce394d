'use strict';
// What a command leaves behind must not open anything for the next one: credentials and denials below a writable home.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');

const SECRET = 'the-secret-of-this-test';

/** A home with credentials that is also the workspace; os.homedir() follows HOME. */
function makeHome(t) {
  const { base, workspace: home } = makePlace(t);
  const { HOME } = process.env;
  process.env.HOME = home;
  t.teardown(() => (process.env.HOME = HOME));
  const write = (file) => {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, SECRET);
  };
  write(path.join(home, '.ssh/id'));
  write(path.join(home, '.config/gcloud/credentials.db'));
  write(path.join(base, 'data/aws/credentials'));
  write(path.join(home, 'private/inner/secret'));
  fs.symlinkSync(path.join(base, 'data/aws'), path.join(home, '.aws'));
  fs.symlinkSync('private/inner', path.join(home, 'link'));
  t.teardown(() => execFileSync('chmod', ['-R', 'u+rwX', home]));
  return { base, home };
}

/** Each: what a first command does, what the second one then reads. @type {ReadonlyArray<[string, string, string]>} */
const attempts = [
  ['a link to / where no credentials were', 'ln -s / ~/.vault-token', 'cat ~/.ssh/id'],
  ['a link to the home', 'ln -s ~ ~/.pgpass', 'cat ~/.ssh/id'],
  ['a folder that was closed', 'chmod 000 ~/.config', 'chmod 755 ~/.config; cat ~/.config/gcloud/credentials.db'],
  ['a credential link that was turned', 'ln -sfn /var/empty ~/.aws', 'cat ../data/aws/credentials'],
  ['a denied link that was turned', 'ln -sfn /var/empty link', 'cat private/inner/secret'],
  [
    'a denied link that was turned, behind a closed folder',
    'ln -sfn /var/empty link; chmod 000 private',
    'chmod 755 private; cat private/inner/secret',
  ],
];

for (const [what, first, then] of attempts) {
  t.test(`${what} opens nothing for the next command`, async (t) => {
    const { home } = makeHome(t);
    const machine = (await startSandbox(t, { filesystem: { denyRead: ['link'] } })).machine(home);
    if (first.startsWith('ln')) {
      t.match(await bash(machine, first), { stderr: /^ln: .*Permission denied/ }, 'it is not left behind');
      t.match(await bash(withoutSandbox(home), first), { exitCode: 0 }, 'but may be there all the same');
    } else {
      t.match(await bash(machine, first), { exitCode: 0, stderr: '' });
    }
    const { stdout } = await bash(machine, then);
    t.notMatch(stdout, SECRET);
    t.match(await bash(machine, 'echo still here'), { stdout: 'still here\n', exitCode: 0 }, 'and commands go on');
    t.match(await bash(withoutSandbox(home), then), { stdout: SECRET }, 'without a sandbox it does');
  });
}

t.test('nothing that lies in the home keeps a sandbox from starting', async (t) => {
  const { home } = makeHome(t);
  for (const plant of ['ln -s / .vault-token', 'ln -s /usr .netrc', 'chmod 000 .config', 'ln -s .pgpass .pgpass']) {
    execFileSync('sh', ['-c', plant], { cwd: home });
    const sandbox = await startSandbox(t);
    t.same(sandbox.status.guarantees, { ...sandbox.status.guarantees, network: 'session', proc: 'private' }, plant);
    t.match(await bash(sandbox.machine(home), 'cat .ssh/id; echo ran'), { stdout: 'ran\n' }, plant);
  }
});

t.test('a credential link that would hide the system is passed over, and that is said', async (t) => {
  const { home } = makeHome(t);
  fs.symlinkSync('/usr', path.join(home, '.netrc'));
  const sandbox = await startSandbox(t);
  t.match(await bash(sandbox.machine(home), 'ls /usr/bin/env'), { exitCode: 0 });
  t.ok(sandbox.status.warnings.some((text) => text.includes('.netrc leads to /usr')), sandbox.status.warnings.join('\n'));
});

t.test('an abort that comes before the deadline is no timeout', async (t) => {
  const { home } = makeHome(t);
  const machine = (await startSandbox(t)).machine(home);
  const controller = new AbortController();
  const running = machine.run(['bash', '-c', 'trap "sleep 1; exit 7" TERM; echo up; sleep 60 & wait'], {
    signal: controller.signal,
    timeoutMs: 1200,
    onOutput: () => setTimeout(() => controller.abort(), 500),
  });
  t.match(await running, { exitCode: 7, timedOut: false, terminated: true });
});
