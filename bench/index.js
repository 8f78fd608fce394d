'use strict';
// Measures the sandbox beside what it is compared with, and prints a table. It asserts nothing.
// node bench/index.js [--quick] [--only NAME[,NAME…]] [--json | --markdown]

const { parseArgs } = require('node:util');
const { describeHost } = require('./host');
const { Scratch } = require('./scratch');
const { endWorkers, runJob } = require('./workers');
const { print } = require('./table');

/** Name → the row's module, in the order of the table. @type {Record<string, { measure: (bench: any) => Promise<any[]> }>} */
const ROWS = {
  empty: require('./rows/empty'),
  repository: require('./rows/repository'),
  mounts: require('./rows/mounts'),
  heap: require('./rows/heap'),
  srt: require('./rows/srt'),
  trees: require('./rows/trees'),
  many: require('./rows/many'),
  start: require('./rows/start'),
  'command-line': require('./rows/command-line'),
  'main-thread': require('./rows/main-thread'),
  throughput: require('./rows/throughput'),
  'monitor-files': require('./rows/monitor-files'),
  'monitor-projects': require('./rows/monitor-projects'),
  'monitor-denials': require('./rows/monitor-denials'),
  'network-download': require('./rows/network-download'),
  'network-requests': require('./rows/network-requests'),
  'network-idle': require('./rows/network-idle'),
};

const FULL = { runs: 150, warmup: 10, capMs: 120_000 };
const QUICK = { runs: 30, warmup: 3, capMs: 15_000 };
const ENDING_SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

function readCommandLine() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      only: { type: 'string', multiple: true },
      json: { type: 'boolean' },
      markdown: { type: 'boolean' },
    },
  });
  const names = values.only?.flatMap((list) => list.split(',')) ?? Object.keys(ROWS);
  const unknown = names.filter((name) => !Object.hasOwn(ROWS, name));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join()}: the rows are ${Object.keys(ROWS).join(', ')}`);
  /** @type {'text' | 'json' | 'markdown'} */
  const format = values.json ? 'json' : values.markdown ? 'markdown' : 'text';
  return { names, counts: values.quick ? QUICK : FULL, format };
}

/**
 * One part of the table; a part that cannot be measured here says why.
 * @param {string} name
 * @param {any} bench
 */
async function measureRow(name, bench) {
  process.stderr.write(`${name} …\n`);
  try {
    return await ROWS[name].measure(bench);
  } catch (error) {
    return [{ what: name, missing: /** @type {Error} */ (error).message.split('\n')[0] }];
  }
}

async function main() {
  const { names, counts, format } = readCommandLine();
  const scratch = new Scratch();
  for (const [signal, code] of Object.entries(ENDING_SIGNALS)) {
    process.on(signal, () => {
      endWorkers();
      scratch.remove();
      process.exit(code);
    });
  }
  try {
    const bench = { counts, scratch, runJob };
    const host = describeHost();
    const rows = [];
    for (const name of names) rows.push(...(await measureRow(name, bench)));
    print(format, host, rows);
  } finally {
    scratch.remove();
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
