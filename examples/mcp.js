'use strict';
// An MCP server from npm under `os-sandbox`, and the official client that talks to it: what it may read and write, and
// what it may not, whatever it is asked for. Exits 1 if one line is not so.

const fs = require('node:fs');
const path = require('node:path');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

const CLI = path.join(__dirname, '..', 'lib', 'cli', 'main.js');
const SERVER = require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

/** A place of this example's own: a project, and what lies beside it. */
function makePlace() {
  const base = fs.mkdtempSync('/var/tmp/os-sandbox-mcp-');
  const [project, private_] = ['project', 'private'].map((name) => path.join(base, name));
  for (const folder of [project, private_]) fs.mkdirSync(folder);
  fs.writeFileSync(path.join(project, 'README'), 'read me\n');
  fs.writeFileSync(path.join(private_, 'key'), 'nobody is to see this\n');
  return { base, project, private: private_ };
}

/** What follows is what an entry of .mcp.json says; the server itself would give away all of the base. */
async function connect({ base, project, private: denied }) {
  const args = [CLI, '--deny-read', denied, '--allow-write', project, '--', 'node', SERVER, base];
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: project, stderr: 'inherit' });
  const client = new Client({ name: 'example', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

(async () => {
  const place = makePlace();
  const client = await connect(place);
  let failures = 0;
  /** @param {boolean} allowed @param {string} name @param {{ path: string, content?: string }} values */
  const show = async (allowed, name, values) => {
    const { isError, content } = /** @type {any} */ (await client.callTool({ name, arguments: values }));
    const asExpected = allowed === !isError;
    if (!asExpected) failures += 1;
    const what = `${name} ${path.relative(place.base, values.path)}`;
    console.log(`${asExpected ? '✓' : '✗'} ${what.padEnd(44)} ${content[0].text.trim().split('\n')[0]}`);
  };
  await show(true, 'read_text_file', { path: path.join(place.project, 'README') });
  await show(true, 'write_file', { path: path.join(place.project, 'notes'), content: 'written\n' });
  await show(false, 'read_text_file', { path: path.join(place.private, 'key') });
  await show(false, 'write_file', { path: path.join(place.base, 'escaped'), content: 'written\n' });
  await show(false, 'write_file', { path: path.join(place.project, '.mcp.json'), content: '{}' });
  await client.close();
  fs.rmSync(place.base, { recursive: true, force: true });
  process.exitCode = failures === 0 ? 0 : 1;
})();
