'use strict';
// Clients of the web reach what is allowed and nothing else, whether they know of proxies or not.

const t = require('tap');
const { onTestHost } = require('./helpers/outside');
const { testClients } = require('./helpers/outside-clients');

const HELLO = /^hello from \w+\.example\.(com|net)$/m;
/** The proxy where there is one. */
const PROXY = 'proxy=${HTTP_PROXY#http://}; ';
const REQUEST = 'GET / HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n';

const python = (/** @type {string} */ body) => `/usr/bin/python3 -c "
import os, sys
host = os.environ['HOST']
${body}"`;

/** @type {import('./helpers/outside-clients').Client[]} */
const CLIENTS = [
  { name: 'curl, http', script: 'curl -sS "http://$HOST/"', says: HELLO, port: 80 },
  { name: 'curl, https', script: 'curl -sS --http1.1 "https://$HOST/"', says: HELLO },
  { name: 'curl, HTTP/2', script: `curl -sS --http2 -w '%{http_version}' "https://$HOST/"`, says: /^hello from .*\n2$/ },
  { name: 'curl, http, no proxy', script: `curl -sS --noproxy '*' "http://$HOST/"`, says: HELLO, port: 80 },
  { name: 'curl, HTTP/2, no proxy', script: `curl -sS --noproxy '*' "https://$HOST/"`, says: HELLO },
  {
    name: 'curl, SOCKS5, the name is resolved by the proxy',
    script: `${PROXY} curl -sS \${proxy:+-x "socks5h://$proxy"} "https://$HOST/"`,
    says: HELLO,
  },
  {
    name: 'curl, SOCKS5, the name is resolved by curl',
    script: `${PROXY} curl -sS \${proxy:+-x "socks5://$proxy"} "http://$HOST/"`,
    says: HELLO,
    port: 80,
  },
  { name: 'curl, HTTP through a tunnel', script: 'curl -sS -p "http://$HOST/"', says: HELLO, port: 80 },
  { name: 'curl, a body', script: 'curl -sS -d payload "http://$HOST/"', says: /^got payload$/m, port: 80 },
  {
    name: 'curl, a body of unknown length',
    script: 'printf payload | curl -sS -T - -X POST "http://$HOST/"',
    says: /^got payload$/m,
    port: 80,
  },
  { name: 'wget, http', script: 'wget -q -O - "http://$HOST/"', says: HELLO, port: 80 },
  { name: 'wget, https', script: 'wget -q -O - --ca-certificate="$SSL_CERT_FILE" "https://$HOST/"', says: HELLO },
  {
    name: 'wget, https, no proxy',
    script: 'wget -q -O - --tries=1 --no-proxy --ca-certificate="$SSL_CERT_FILE" "https://$HOST/"',
    says: HELLO,
  },
  {
    name: 'python urllib, http',
    script: python(`import urllib.request
print(urllib.request.urlopen('http://' + host + '/').read().decode())`),
    says: HELLO,
    port: 80,
  },
  {
    name: 'python urllib, https',
    script: python(`import urllib.request
print(urllib.request.urlopen('https://' + host + '/').read().decode())`),
    says: HELLO,
  },
  {
    name: 'python requests',
    script: python(`from pip._vendor import requests
print(requests.get('https://' + host + '/').text)`),
    says: HELLO,
  },
  {
    name: 'python requests, no proxy',
    script: python(`from pip._vendor import requests
session = requests.Session()
session.trust_env = False
session.verify = os.environ['REQUESTS_CA_BUNDLE']
print(session.get('https://' + host + '/').text)`),
    says: HELLO,
  },
  {
    name: 'python ssl',
    script: python(`import socket, ssl
stream = ssl.create_default_context().wrap_socket(socket.create_connection((host, 443)), server_hostname=host)
stream.sendall(('GET / HTTP/1.0\\r\\nHost: ' + host + '\\r\\n\\r\\n').encode())
print(stream.makefile().read())`),
    says: HELLO,
  },
  {
    name: 'perl HTTP::Tiny',
    script: `perl -MHTTP::Tiny -e 'my $r = HTTP::Tiny->new->get("http://$ENV{HOST}/"); print $r->{success} ? $r->{content} : ""'`,
    says: HELLO,
    port: 80,
  },
  {
    name: 'openssl s_client',
    script: `printf '${REQUEST}' "$HOST" | openssl s_client -quiet -servername "$HOST" -connect "$HOST:443" -CAfile "$SSL_CERT_FILE"`,
    says: HELLO,
  },
  {
    name: 'bash /dev/tcp',
    script: `exec 9<>"/dev/tcp/$HOST/80" && printf '${REQUEST}' "$HOST" >&9 && cat <&9`,
    says: HELLO,
    port: 80,
  },
  { name: 'socat', script: `printf '${REQUEST}' "$HOST" | socat -t 5 - "TCP:$HOST:80"`, says: HELLO, port: 80 },
  { name: 'netcat', script: `printf '${REQUEST}' "$HOST" | nc -w 5 "$HOST" 80`, says: HELLO, port: 80 },
];

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  await testClients(t, outside, CLIENTS);
});
