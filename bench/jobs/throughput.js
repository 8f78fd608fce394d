'use strict';

const { alternate } = require('../measure');
const { openSubject } = require('../subjects');

/**
 * One command with much output, in every subject in turn.
 * @param {{ subjects: any[], argv: string[], cap?: number, streamed: boolean, counts: any }} args
 */
module.exports = async ({ subjects, argv, cap, streamed, counts }) => {
  const opened = [];
  for (const subject of subjects) opened.push(await openSubject(subject));
  const options = { maxOutputBytes: cap, onOutput: streamed ? () => {} : undefined };
  const times = await alternate(
    opened.map(({ run }) => () => run(argv, options)),
    counts
  );
  for (const { close } of opened) await close();
  return times;
};
