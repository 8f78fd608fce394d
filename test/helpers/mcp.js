'use strict';
// MCP servers under `os-sandbox`, and the official client that talks to them.

const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { once } = require('node:events');
const path = require('node:path');

const CLI = path.join(__dirname, '..', '..', 'lib', 'cli', 'main.js');

/** The test runner has every Node load a module of its own, which writes where a sandbox lets nobody. */
const AS_OUTSIDE_OF_TESTS = ['--env', 'NODE_OPTIONS='];

/**
 * Starts a server in the sandbox and connects to it; it ends with the test.
 * @param {any} t
 * @param {string[]} args of os-sandbox
 * @param {{ cwd: string, env?: Record<string, string> }} options
 */
async function connect(t, args, { cwd, env }) {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, ...AS_OUTSIDE_OF_TESTS, ...args], cwd, env, stderr: 'pipe' });
  const client = new Client({ name: 'test', version: '1.0.0' });
  t.teardown(() => client.close());
  let stderr = '';
  transport.stderr?.on('data', (data) => (stderr += data));
  try {
    await client.connect(transport);
  } catch (error) {
    throw new Error(`${/** @type {Error} */ (error).message}: ${stderr}`);
  }
  /** What a tool says. @param {string} name @param {Record<string, unknown>} values @returns {Promise<string>} */
  const call = async (name, values) => {
    const { content } = /** @type {any} */ (await client.callTool({ name, arguments: values }));
    return content[0].text;
  };
  /** How `os-sandbox` ends when the client goes. */
  const close = async () => {
    const ended = once(/** @type {any} */ (transport)._process, 'exit');
    await client.close();
    return ended;
  };
  return { call, client, close, pid: /** @type {number} */ (transport.pid), said: () => stderr };
}

module.exports = { connect };
