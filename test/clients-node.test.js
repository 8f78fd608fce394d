'use strict';
// Node's own clients, of the Node that runs this, and npm.

const t = require('tap');
const { onTestHost } = require('./helpers/outside');
const { testClients } = require('./helpers/outside-clients');

const HELLO = /^hello from \w+\.example\.(com|net)(:443)?$/m;

const program = (/** @type {string} */ body) => `"$NODE" -e "
const host = process.env.HOST;
${body}"`;
/** Of 22 and later. */
const HAS_WEB_SOCKET = typeof globalThis.WebSocket === 'function';

/** @type {import('./helpers/outside-clients').Client[]} */
const CLIENTS = [
  {
    name: 'http.get',
    script: program(`require('http').get('http://' + host + '/', (response) => response.pipe(process.stdout))`),
    says: HELLO,
    port: 80,
  },
  {
    name: 'https.get',
    script: program(`require('https').get('https://' + host + '/', (response) => response.pipe(process.stdout))`),
    says: HELLO,
  },
  {
    name: 'http2',
    script: program(`const session = require('http2').connect('https://' + host);
session.request().on('close', () => session.close()).pipe(process.stdout);`),
    says: HELLO,
  },
  {
    name: 'fetch',
    script: program(`fetch('https://' + host + '/').then((response) => response.text()).then(console.log)`),
    says: HELLO,
  },
  {
    name: 'a WebSocket by hand',
    script: program(`const headers = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
require('https').get({ host, headers }).on('upgrade', (response, socket, head) => {
  let text = head.toString('latin1');
  socket.on('data', (data) => (text += data.toString('latin1'))).on('end', () => console.log(text.slice(2, -2)));
  socket.end();
});`),
    says: HELLO,
  },
  ...(HAS_WEB_SOCKET
    ? [
        {
          name: 'WebSocket',
          script: program(`const socket = new WebSocket('wss://' + host + '/');
socket.onmessage = ({ data }) => { console.log(data); socket.close(); };`),
          says: HELLO,
        },
      ]
    : []),
  {
    name: 'npm install',
    script: `to=$(mktemp -d) && cd "$to" && echo '{}' > package.json &&
npm install --registry "https://$HOST/npm/" --cafile "$SSL_CERT_FILE" --cache "$to/cache" --fetch-retries 0 --no-audit --no-fund --no-update-notifier greeting >&2 &&
"$NODE" -e "require('greeting')"; rm -rf "$to"`,
    says: /^hello from npm$/m,
  },
];

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  // Without the test runner's own module.
  await testClients(t, outside, CLIENTS, { NODE: process.execPath, NODE_OPTIONS: '' });
});
