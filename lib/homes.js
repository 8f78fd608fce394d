'use strict';

const os = require('node:os');
const path = require('node:path');

/** The answer, or undefined where an account, a HOME or a line of passwd is missing, as in many containers. */
function attempt(question) {
  try {
    return question();
  } catch {
    return undefined;
  }
}

/** A HOME that is empty or relative is none: what lies in the working directory is not the user's. @param {string | undefined} folder */
const absolute = (folder) => (folder !== undefined && path.isAbsolute(folder) ? folder : undefined);

/** Credentials lie in the account's home also where HOME names another, as under sudo. */
function homes() {
  const accountHome = absolute(attempt(() => os.userInfo().homedir));
  const home = absolute(attempt(os.homedir)) ?? accountHome ?? '/';
  return { home, accountHome: accountHome === home ? undefined : accountHome };
}

/** An entry of the options without its `~`. @param {string} entry */
function expandHome(entry) {
  return entry === '~' || entry.startsWith('~/') ? path.join(homes().home, entry.slice(1)) : entry;
}

module.exports = { expandHome, homes };
