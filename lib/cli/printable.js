'use strict';
// Text that a command had a hand in, made harmless for a terminal: what csrc/violations/escape.c does, here for events.

/** What cannot be seen, moves the cursor or ends a line; the same ranges as in csrc/violations/escape.c. */
const ESCAPED = new RegExp(
  '[\\0-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f' +
    '\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
  'gu',
);

/** @param {string} character */
function escapeOne(character) {
  const point = /** @type {number} */ (character.codePointAt(0));
  if (point === 10) return '\\n';
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, '0')}`;
}

/** @param {string} text */
function printable(text) {
  return text.toWellFormed().replace(ESCAPED, escapeOne);
}

/** @param {string} host @param {number} [port] */
function printableHost(host, port) {
  const name = host.includes(':') ? `[${printable(host)}]` : printable(host);
  return port === undefined ? name : `${name}:${port}`;
}

/** What a violation was about. @param {{ path?: string, host?: string, port?: number }} violation */
function targetOf({ path, host, port }) {
  if (path !== undefined) return printable(path);
  return host === undefined ? '' : printableHost(host, port);
}

/**
 * As the library's block on stderr has it.
 * @param {{ operation: string, path?: string, host?: string, port?: number, why?: string }} violation
 */
function violationLine(violation) {
  const target = targetOf(violation);
  const why = violation.why === undefined ? '' : ` (${printable(violation.why)})`;
  return `deny ${printable(violation.operation)}${target === '' ? '' : ` ${target}`}${why}`;
}

module.exports = { printable, printableHost, targetOf, violationLine };
