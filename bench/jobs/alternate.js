'use strict';

const { alternate } = require('../measure');
const { openSubject } = require('../subjects');

const MEGABYTE = 2 ** 20;
const BLOCK = 64;

/** Live and touched, so that a fork has to copy their page tables. @param {number} megabytes */
function makeHeap(megabytes) {
  return Array.from({ length: megabytes / BLOCK }, (_, i) => Buffer.alloc(BLOCK * MEGABYTE, i + 1));
}

/**
 * Runs `true` in every subject in turn.
 * @param {{ subjects: any[], counts: any, heapMegabytes?: number }} args
 */
module.exports = async ({ subjects, counts, heapMegabytes = 0 }) => {
  const heap = makeHeap(heapMegabytes);
  const opened = [];
  for (const subject of subjects) opened.push(await openSubject(subject));
  const times = await alternate(
    opened.map(({ run }) => () => run(['true'])),
    counts
  );
  for (const { close } of opened) await close();
  if (heap.length !== heapMegabytes / BLOCK) throw new Error('the heap must outlive the measurement');
  return times;
};
