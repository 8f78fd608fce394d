'use strict';

const os = require('node:os');

/** The answer, or undefined where an account, a HOME or a line of passwd is missing, as in many containers. */
function attempt(question) {
  try {
    return question();
  } catch {
    return undefined;
  }
}

/** Credentials lie in the account's home also where HOME names another, as under sudo. */
function homes() {
  const home = attempt(os.homedir) ?? '/';
  const accountHome = attempt(() => os.userInfo().homedir);
  return { home, accountHome: accountHome === home ? undefined : accountHome };
}

module.exports = { homes };
