'use strict';

const path = require('node:path');

const { expandHome, homes } = require('./homes');

/** Of the settings that a command would need, what gives it more than it looks like. */

/** Below these lies what programs of the host run, or go by. */
const SYSTEM = ['/bin', '/boot', '/etc', '/lib', '/lib32', '/lib64', '/opt', '/root', '/run', '/sbin', '/sys', '/usr', '/var'];
const NO_SYSTEM = ['/var/tmp', '/var/cache'];
const NO_SETTINGS = ['.cache', '.npm'];

/** @param {string} file @param {string} folder */
const isWithin = (file, folder) => file === folder || file.startsWith(`${folder}/`);

/** @param {string} entry */
function ofWriting(entry) {
  const { home } = homes();
  const folder = expandHome(entry);
  if (isWithin(home, folder)) return `${folder === home ? 'the home directory' : 'the home directory is in it'}, with what the user’s programs go by`;
  if (isWithin(folder, home)) {
    const [top] = path.relative(home, folder).split('/');
    return top.startsWith('.') && !NO_SETTINGS.includes(top) ? 'what the user’s programs go by' : undefined;
  }
  const isSystem = SYSTEM.some((one) => isWithin(folder, one)) && !NO_SYSTEM.some((one) => isWithin(folder, one));
  return isSystem ? 'what programs of the host run, or go by' : undefined;
}

/** @type {Record<string, (addition: { entry: string | true, secret?: boolean }) => string | undefined>} */
const CAUTIONS = {
  'filesystem.allowWrite': ({ entry }) => ofWriting(String(entry)),
  'filesystem.allowRead': ({ secret }) => (secret ? 'credentials' : undefined),
  'filesystem.allowProtected': () => 'what programs of the host run, or go by',
  'filesystem.allowGitConfig': () => 'the host’s git runs commands that a configuration names',
  'network.allowUnixSockets': () => 'who listens there acts outside of the sandbox',
  'network.allowedDomains': ({ entry }) => (/^(localhost|127\.|\[?::1)/.test(String(entry)) ? 'a server of this host' : undefined),
};

/** @param {{ option: string, entry: string | true, secret?: boolean }} addition @returns {string | undefined} */
function cautionOf(addition) {
  const { option, entry } = addition;
  const caution = CAUTIONS[option]?.(addition);
  return caution && `${option}${entry === true ? '' : ` ${JSON.stringify(entry)}`}: ${caution}`;
}

module.exports = { cautionOf };
