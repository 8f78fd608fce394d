'use strict';
// One command on the terminal of a person, who has a shell with job control.

const path = require('node:path');
const t = require('tap');
const { eventually, isAlive } = require('./helpers/processes');
const { parentOf, processesWith, scratchFolder, uniqueDuration } = require('./helpers/sandbox');
const { openTerminal } = require('./helpers/terminal');

const COMMAND_LINE = [process.execPath, path.join(__dirname, '..', 'lib', 'cli', 'main.js')];

/** A shell at its prompt, in which `box` is the command line. @param {any} t @param {string} [shell] */
async function openShell(t, shell) {
  const workspace = scratchFolder(t);
  const terminal = openTerminal(t, { cwd: workspace, ...(shell && { command: [shell] }) });
  terminal.enter(`box() { ${COMMAND_LINE.join(' ')} "$@"; }; alias box='${COMMAND_LINE.join(' ')}'; PS1='ready''> '`);
  await terminal.read(/ready> /);
  return terminal;
}

/** Says a word so that the line which asks for it, which the terminal shows as well, does not look like it. */
const say = (/** @type {string} */ word) => `printf "<%s>\\n" ${word}`;
const WAIT = 'while :; do sleep 0.05; done';

t.test('a person at a shell', async (t) => {
  const terminal = await openShell(t);

  t.test('Ctrl-C reaches the trap of the command, once, and its exit code comes back', async (t) => {
    terminal.enter(`box bash -c 'trap "${say('trap').replace(/"/g, '\\"')}; exit 4" INT; ${say('on')}; ${WAIT}'; ${say('$?')}`);
    await terminal.read(/<on>\r/);
    terminal.type('\x03');
    await terminal.read(/\^C<trap>\r\n<4>\r[^]*ready> /);
    terminal.enter(`box bash -c '${say('on')}; sleep 600; :'; ${say('next')}`);
    await terminal.read(/<on>\r/);
    terminal.type('\x03');
    t.notMatch(await terminal.read(/[^]*ready> /), /<next>/, 'where it died of it the shell takes the whole line for interrupted');
  });

  t.test('Ctrl-Z stops the job, and fg continues it', async (t) => {
    terminal.enter(`box bash -c '${say('on')}; read line; ${say('$line')}'`);
    await terminal.read(/<on>\r/);
    terminal.type('\x1a');
    await terminal.read(/Stopped[^\n]*\r\n[^]*ready> /);
    terminal.enter('fg');
    // Its echo, and what it starts again: until that the shell's own editing of lines takes what is typed, as it is.
    await terminal.read(/\n[^\n]*\n/);
    terminal.enter('word');
    await terminal.read(/<word>\r[^]*ready> /);
    terminal.enter(`box bash -c '${say('on')}; kill -STOP 0; ${say('again')}'`);
    await terminal.read(/Stopped[^\n]*\r\n[^]*ready> /);
    terminal.enter('fg');
    t.notMatch(await terminal.read(/[^]*<again>\r[^]*ready> /), /Stopped/, 'and that once');
  });

  t.test('so does a command that stops itself alone, as some do at Ctrl-Z', async () => {
    terminal.enter(`box bash -c 'for i in 1 2; do kill -STOP $$; ${say('go$i')}; done'; ${say('$?')}`);
    await terminal.read(/Stopped[^\n]*\r\n[^]*ready> /);
    terminal.enter('fg');
    await terminal.read(/<go1>\r[^]*Stopped[^\n]*\r\n[^]*ready> /);
    terminal.enter('fg');
    await terminal.read(/<go2>\r[^]*ready> /);
  });

  t.test('a shell in it can be suspended, and has the terminal again after fg', async () => {
    terminal.enter(`box bash --norc --noprofile -i`);
    terminal.enter("PS1='inner''> '");
    await terminal.read(/inner> /);
    terminal.enter('suspend');
    await terminal.read(/Stopped[^\n]*\r\n[^]*ready> /);
    terminal.enter('fg');
    await terminal.read(/\n[^\n]*\n/);
    terminal.enter(say('back'));
    await terminal.read(/<back>\r[^]*inner> /);
    terminal.enter('exit');
    await terminal.read(/ready> /);
  });

  t.test('the terminal is one: its size, its modes, its name', async (t) => {
    terminal.resize(31, 117);
    terminal.enter(`box bash -c 'stty size; test -t 0 -a -t 1 -a -t 2 && ${say('tty')}; trap "stty size; exit" WINCH; ${say('on')}; ${WAIT}'`);
    await terminal.read(/31 117\r\n<tty>\r\n<on>\r/);
    terminal.resize(20, 90);
    await terminal.read(/20 90\r[^]*ready> /);
    terminal.enter(`echo piped | box bash -c '{ stty -echo; ${say('asks')}; read word; ${say('$word')}; } < /dev/tty > /dev/tty; cat' | cat`);
    await terminal.read(/<asks>\r\n/);
    terminal.enter('secret');
    t.equal((await terminal.read(/^[^]*<secret>\r\n/))[0], '<secret>\r\n', 'what was typed is not shown');
    await terminal.read(/piped\r[^]*ready> /);
    terminal.enter(`box bash -c 'stty raw -echo; ${say('raw')}; dd bs=1 count=2 2>/dev/null | od -c'`);
    await terminal.read(/<raw>/);
    terminal.type('\x03\x1a');
    await terminal.read(/003 032[^]*ready> /);
  });

  t.test('a command in the background is stopped by nothing but its own reading', async () => {
    terminal.enter(`box bash -c '${say('on')}; stty size; exit 3' & wait $!; ${say('$?')}`);
    await terminal.read(/<on>\r\n20 90\r[^]*<3>\r[^]*ready> /);
    terminal.enter('box cat & wait $!');
    await terminal.read(/Stopped[^]*ready> /);
    terminal.enter(`kill -KILL %%; wait; ${say('killed')}`);
    await terminal.read(/<killed>\r[^]*ready> /);
  });
});

/** From a child of the command over that, its stage, bwrap and the agent. @param {number} pid */
const commandLineOf = (pid) => [1, 2, 3, 4, 5].reduce(parentOf, pid);

/** Whatever has the terminal next finds it like this. @param {any} t @param {string} script in a shell without job control */
async function aroundCommand(t, script) {
  const terminal = openTerminal(t, { command: ['sh', '-c', `${say('there')}; read go; ${script}; ${say('over')}; read go; exit 6`], cwd: scratchFolder(t) });
  await terminal.read(/<there>/);
  const before = await terminal.state();
  terminal.enter('');
  return { terminal, before };
}

t.test('the terminal is left as it was found', async (t) => {
  const box = COMMAND_LINE.join(' ');
  const HELD = `stty raw -echo; ${say('raw')}`;
  const cases = {
    'by a command that ends in raw mode': { script: `${box} sh -c '${HELD}'` },
    'by one that is killed in it': { script: `${box} sh -c '${HELD}; kill -KILL $$'` },
    'by an interactive shell that had it and was killed': { script: `${box} bash --norc --noprofile -ic '${HELD}; kill -KILL $$'` },
    'by one that ends': { script: `${box} bash --norc --noprofile -ic '${HELD}'` },
  };
  for (const [name, { script }] of Object.entries(cases)) {
    t.test(name, async (t) => {
      const { terminal, before } = await aroundCommand(t, script);
      await terminal.read(/<raw>/);
      await terminal.read(/<over>\r/);
      t.same(await terminal.state(), before);
      terminal.enter('');
      t.equal(await terminal.end(), 6, 'who comes next can read');
    });
  }

  for (const [name, shell] of Object.entries({ 'a command': 'sh', 'an interactive shell': 'bash --norc --noprofile -i' })) {
    t.test(`also when this process is killed during ${name}`, async (t) => {
      const duration = uniqueDuration();
      const { terminal, before } = await aroundCommand(t, `${box} ${shell} -c '${HELD}; sleep ${duration}; :'; ${WAIT}`);
      await terminal.read(/<raw>/);
      await eventually(() => processesWith(duration).length === 1);
      process.kill(commandLineOf(processesWith(duration)[0]), 'SIGKILL');
      t.ok(await eventually(() => processesWith(duration).length === 0), 'and the command with it');
      const isBack = async () => JSON.stringify(await terminal.state()) === JSON.stringify(before);
      for (const deadline = Date.now() + 10_000; !(await isBack()) && Date.now() < deadline; );
      t.same(await terminal.state(), before);
    });
  }
});

t.test('when the terminal goes away, so does the command', async (t) => {
  const duration = uniqueDuration();
  const terminal = openTerminal(t, { command: [...COMMAND_LINE, 'sh', '-c', `${say('on')}; sleep ${duration}; :`], cwd: '/var/tmp' });
  await terminal.read(/<on>\r/);
  await eventually(() => processesWith(duration).length === 1);
  const own = commandLineOf(processesWith(duration)[0]);
  terminal.close();
  t.ok(await eventually(() => processesWith(duration).length === 0 && !isAlive(own)));
});
