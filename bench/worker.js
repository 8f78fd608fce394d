'use strict';
// The process that measures: worker.js JOB JSON. Not for use by hand.

const [job, args] = process.argv.slice(2);

/** @param {any} reply */
function answer(reply) {
  process.send?.(reply, () => process.exit());
}

// Nobody is left to read the answer.
process.on('disconnect', () => process.exit(1));
require(`./jobs/${job}`)(JSON.parse(args)).then(
  (value) => answer({ value }),
  (error) => answer({ error: error.message })
);
