'use strict';
// Clients that bring a network library of their own: Java's HttpClient, and a static Go program.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { onTestHost } = require('./helpers/outside');
const { testClients } = require('./helpers/outside-clients');

const SOURCES = path.join(__dirname, 'fixtures', 'clients');
const HELLO = /^hello from \w+\.example\.(com|net)$/m;

/** @param {string} folder */
function compile(folder) {
  fs.mkdirSync(folder);
  execFileSync('javac', ['-d', folder, path.join(SOURCES, 'Get.java')]);
  const env = { ...process.env, CGO_ENABLED: '0', GOCACHE: path.join(folder, 'go-cache'), GOFLAGS: '', GO111MODULE: 'off' };
  execFileSync('/usr/bin/go', ['build', '-o', path.join(folder, 'get'), path.join(SOURCES, 'get.go')], { env });
}

/** @param {string} folder @returns {import('./helpers/outside-clients').Client[]} */
const clients = (folder) => [
  {
    name: 'java HttpClient',
    script: `java -XX:TieredStopAtLevel=1 -cp ${folder} Get "https://$HOST/" "$SSL_CERT_FILE"`,
    says: HELLO,
  },
  { name: 'a static Go program', script: `${folder}/get "$HOST"`, says: HELLO, port: 80 },
];

onTestHost(t, __filename, async (outside) => {
  const folder = path.join(outside.folder, 'compiled');
  compile(folder);
  await outside.start('web');
  await testClients(t, outside, clients(folder));
});
