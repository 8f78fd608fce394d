'use strict';

const { UsageError } = require('./errors');

/** The names that --limit knows, and what each is of the library's `limits`. */
const LIMITS = {
  memory: { key: 'memoryBytes', size: true },
  processes: { key: 'processes', size: false },
  cpu: { key: 'cpuSeconds', size: false },
  file: { key: 'fileBytes', size: true },
  'open-files': { key: 'openFiles', size: false },
};
const UNITS = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };

/** @param {string} text @param {boolean} size @returns {number | undefined} */
function amountOf(text, size) {
  const [, digits, unit] = /^(\d{1,15})([KMGT]?)$/i.exec(text) ?? [];
  if (digits === undefined || (unit !== '' && !size)) return undefined;
  const amount = Number(digits) * UNITS[unit.toUpperCase()];
  return amount > 0 && Number.isSafeInteger(amount) ? amount : undefined;
}

/** The library's `limits` for values of --limit. @param {readonly string[]} items @returns {Record<string, number>} */
function limitsOf(items) {
  /** @type {Record<string, number>} */
  const limits = {};
  for (const item of items) {
    const [, name = item, text = ''] = /^([^=]*)=(.*)$/s.exec(item) ?? [];
    if (!Object.hasOwn(LIMITS, name)) {
      throw new UsageError(`--limit: expected one of ${Object.keys(LIMITS).join(', ')} with =VALUE, found ${JSON.stringify(item)}`);
    }
    const { key, size } = LIMITS[name];
    const amount = amountOf(text, size);
    if (amount === undefined) {
      const wanted = size ? 'bytes, or a number that ends in K, M, G or T' : 'a whole number, 1 or more';
      throw new UsageError(`--limit ${name}: expected ${wanted}, found ${JSON.stringify(text)}`);
    }
    if (limits[key] !== undefined && limits[key] !== amount) throw new UsageError(`--limit ${name}: given twice, with different values`);
    limits[key] = amount;
  }
  return limits;
}

/** How --limit calls an option of the library. @param {string} key */
function limitNameOf(key) {
  return Object.keys(LIMITS).find((name) => LIMITS[name].key === key);
}

module.exports = { LIMITS, limitNameOf, limitsOf };
