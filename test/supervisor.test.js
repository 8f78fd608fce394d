'use strict';
// Calls that the supervisor makes for a command and that wait: nobody can tell the difference.

const t = require('tap');
const { LocalMachine } = require('..');
const { compile, resultsOf } = require('./helpers/attack');
const { scratchFolder, startMachine } = require('./helpers/sandbox');

const EXPECTED = {
  first: 'Success',
  'signal without restart': 'Interrupted system call',
  'signal with restart': 'Success after signals',
  'time limit of the socket': 'Resource temporarily unavailable in time',
  'without waiting': 'Resource temporarily unavailable',
  'a name meanwhile': 'made',
  'held up': 'no',
  killed: 'gone',
  terminated: 'gone',
  'the others': '38 connected',
};

t.test('a connect that waits ends by a signal, by death, by its time limit, and holds up nobody', async (t) => {
  const program = compile(scratchFolder(t), 'waiting');
  const { machine } = await startMachine(t);
  const plain = new LocalMachine(scratchFolder(t));
  for (const [where, runner] of /** @type {const} */ ([['outside', plain], ['inside', machine]])) {
    t.test(where, async (t) => {
      const result = await runner.run([program], { timeoutMs: 30_000 });
      t.equal(result.stderr, '');
      t.equal(result.exitCode, 0);
      t.same(resultsOf(result.stdout), EXPECTED);
    });
  }
});

t.test('a command that is stopped while a call of it waits ends in time', async (t) => {
  const { machine } = await startMachine(t);
  const script = `
import socket
listener = socket.socket(socket.AF_UNIX); listener.bind('full'); listener.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
for client in clients: client.connect('full')`;
  t.match(await machine.run(['python3', '-c', script], { timeoutMs: 300 }), { timedOut: true, terminated: true, stderr: '' });
  t.match(await machine.run(['python3', '-c', script.replaceAll('full', 'full2')], { signal: AbortSignal.timeout(300) }), {
    exitCode: 128 + 15,
    terminated: true,
  });
});
