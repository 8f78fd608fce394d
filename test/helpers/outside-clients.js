'use strict';
// A real client against the tests' internet, three times: to a host that no rule allows without a sandbox, which must work,
// and in the sandbox to one that is allowed and to that which is not.

const { bash, makePlace, startSandbox, withoutSandbox } = require('./attack');
const { blockOf } = require('./violations');

const ALLOWED = 'allowed.example.com';
const DENIED = 'denied.example.net';

/**
 * @typedef {object} Client
 * @property {string} name
 * @property {string} script bash, with the host in $HOST
 * @property {RegExp} says what is printed where it got through
 * @property {number} [port] for the violation; default: 443
 * @property {string[]} [allowed] hosts, and whatever else the client reaches; default: ALLOWED
 */

/** What ends a client that hangs: none may. */
const LIMIT_MS = 20_000;

/** @param {string} host @param {number} port */
const denial = (host, port) =>
  new RegExp(`^deny network-outbound ${host.replaceAll('.', '\\.')}(:${port})? \\(not in network\\.allowedDomains\\)`);

/** @param {any} t @param {import('./outside').Outside} outside @param {any} machine @param {any} plain @param {Client} client @param {any} env */
async function testClient(t, outside, machine, plain, client, env) {
  const { script, says, port = 443 } = client;
  const run = (where, host) => bash(where, script, { env: { ...env, HOST: host }, timeoutMs: LIMIT_MS });
  await outside.events();

  const free = await run(plain, DENIED);
  t.match(free.stdout, says, `without a sandbox it gets through: ${free.stderr}`);
  t.ok((await outside.events()).some(({ kind }) => kind === 'packet'), 'and its packets are seen');

  const allowed = await run(machine, ALLOWED);
  t.match(allowed, { timedOut: false, stdout: says }, `what is allowed works: ${allowed.stderr}`);
  t.same(blockOf(allowed.stderr), [], 'and nothing is reported');
  const names = (await outside.events()).filter(({ kind }) => kind === 'lookup').map(({ name }) => name);
  t.same([...new Set(names)], [ALLOWED], 'one name is looked up');

  const denied = await run(machine, DENIED);
  t.notMatch(denied, { stdout: says }, 'what is not allowed does not');
  t.match(denied, { timedOut: false }, 'and fails at once');
  t.ok(
    blockOf(denied.stderr).some((line) => denial(DENIED, port).test(line)),
    `host, port and why are told: ${denied.stderr}`,
  );
  t.same(await outside.events(), [], 'no packet and no look-up leaves the host');
}

/**
 * Tests for each of the clients, one after the other.
 * @param {any} t
 * @param {import('./outside').Outside} outside
 * @param {Client[]} clients
 * @param {Record<string, string>} [env]
 */
async function testClients(t, outside, clients, env = {}) {
  const { workspace } = makePlace(t);
  const sandbox = await startSandbox(t, { network: { allowedDomains: [ALLOWED] } });
  const [machine, plain] = [sandbox.machine(workspace), withoutSandbox(workspace)];
  for (const client of clients) {
    await t.test(client.name, (t) => testClient(t, outside, machine, plain, client, { ...outside.env, ...env }));
  }
}

module.exports = { ALLOWED, DENIED, testClients };
