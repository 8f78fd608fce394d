'use strict';
// On a file system that compares names without case a protected name is one in every spelling.
// Mounting one takes root: a small one of our own, which needs nothing of the kernel but FUSE.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { startProgram } = require('../helpers/program');
const { scratchFolder } = require('../helpers/sandbox');

/** Mounts in a namespace that ends with the program. */
const LAUNCH = `"$1" "$2" > "$2.mounted" & while [ ! -s "$2.mounted" ]; do kill -0 $! || exit; sleep 0.01; done
shift 2; exec "$@"`;

const BODY = `
const fs = require('node:fs');
const path = require('node:path');
const [top, scripts] = process.argv.slice(-2);
const workspace = path.join(top, 'Project');
fs.mkdirSync(workspace);
require('node:child_process').execFileSync('git', ['init', '-q', workspace]);
fs.mkdirSync(path.join(workspace, '.vscode'));
for (const name of ['.vscode/tasks.json', 'Plain', 'denied']) fs.writeFileSync(path.join(workspace, name), 'original');
const list = (folder) => fs.readdirSync(path.join(workspace, folder)).sort();
const read = (name) => fs.readFileSync(path.join(workspace, name), 'utf8');
const config = read('.git/config');
const sandbox = await OsSandbox.start({ filesystem: { denyWrite: ['denied'] } });
const machine = sandbox.machine(workspace);
const results = [];
for (const script of JSON.parse(scripts)) {
  const { exitCode, stderr } = await machine.run(['sh', '-c', script]);
  results.push({ exitCode, stderr, top: list('.'), deep: fs.existsSync(path.join(workspace, 'deep')) ? list('deep') : [] });
}
const unchanged =
  read('.git/config') === config && read('.vscode/tasks.json') === 'original' && read('denied') === 'original' &&
  list('.git/hooks').every((name) => name.endsWith('.sample'));
await sandbox.dispose();
say({ results, unchanged, folds: read('PLAIN') === 'written\\n' });`;

const ALLOWED = ['echo written > pLAIN', 'mkdir deep && echo x > Deep/Other', 'git config --list >&2 && git status >&2'];

const REFUSED = [
  'echo x > .MCP.json',
  'echo x > .Mcp.JSON',
  'mkdir .Idea',
  'echo x > .VSCODE/tasks.json',
  'echo x > .vscode/TASKS.json',
  'echo x > .VsCode/new',
  'echo x > .GIT/config',
  'echo x > .git/CONFIG',
  'echo x > .Git/Hooks/post-commit',
  'echo x > .git/HOOKS/post-commit',
  'echo x > plain.new && mv plain.new .BashRC',
  'ln -s Plain .Profile',
  'mkdir -p .Claude/Commands',
  'mkdir -p Deep/.Husky',
  'echo x > DEEP/.EnvRC',
  'mv .VSCODE elsewhere',
  'rm -r .VSCODE',
  'echo x > DENIED',
  'rm Denied',
];

t.test('a protected name is protected in upper and lower case', async (t) => {
  const folder = scratchFolder(t);
  const program = path.join(folder, 'folding_fs');
  const top = path.join(folder, 'mount');
  fs.mkdirSync(top);
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', program, path.join(__dirname, '..', 'helpers', 'folding_fs.c')]);

  const launcher = ['unshare', '-m', 'sh', '-c', LAUNCH, 'sh', program, top];
  const args = [top, JSON.stringify([...ALLOWED, ...REFUSED])];
  const { next, ended } = startProgram(t, BODY, { launcher, args });
  const { results, unchanged, folds } = await next();
  t.equal((await ended).code, 0);

  t.ok(folds, 'the file system compares without case');
  ALLOWED.forEach((script, i) => t.equal(results[i].exitCode, 0, `${script}: ${results[i].stderr}`));
  const before = results[ALLOWED.length - 1];
  // A folder above a protected name, and a source, are made before what is refused.
  const known = new Set([...before.top, ...before.deep, '.Claude', 'plain.new']);
  REFUSED.forEach((script, i) => {
    const { exitCode, top: names, deep } = results[ALLOWED.length + i];
    t.not(exitCode, 0, script);
    const made = [...names, ...deep].filter((name) => !known.has(name));
    t.same(made, [], 'and nothing of that name is there');
  });
  t.ok(unchanged, 'what was there is as it was');
});
