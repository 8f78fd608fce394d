'use strict';
// What the host's distribution calls things: for commands that users can type.

const fs = require('node:fs');

/** How packages are installed, by the names that os-release gives a distribution or those it is like. */
const INSTALLERS = [
  { command: 'apt install', ids: ['debian', 'ubuntu'] },
  { command: 'dnf install', ids: ['fedora', 'rhel', 'centos'] },
  { command: 'apk add', ids: ['alpine'] },
  { command: 'pacman -S', ids: ['arch'] },
  { command: 'zypper install', ids: ['suse', 'opensuse', 'sles'] },
];

/** @param {string} text an os-release @param {string} key */
function valueOf(text, key) {
  return new RegExp(`^${key}=(["']?)(.*?)\\1$`, 'm').exec(text)?.[2] ?? '';
}

/** The words that install a package here. @param {string} name @param {string} [file] */
function installCommand(name, file = '/etc/os-release') {
  let text = '';
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch {
    // Then it is nobody's we know.
  }
  const ids = `${valueOf(text, 'ID')} ${valueOf(text, 'ID_LIKE')}`.split(' ').map((id) => id.replace(/-.*$/, ''));
  const installer = INSTALLERS.find((each) => each.ids.some((id) => ids.includes(id)));
  return installer ? `${installer.command} ${name}` : `install ${name} with the package manager of this system`;
}

module.exports = { installCommand };
