'use strict';
// `os-sandbox log`: violation logs as a table.

const fs = require('node:fs');
const util = require('node:util');

const { UsageError } = require('./errors');
const { LineSplitter, LogSummary, parseLine } = require('./log-lines');
const { printable, targetOf, violationLine } = require('./printable');

const STDIN = '-';
const HEADINGS = ['COUNT', 'FIRST (UTC)', 'LAST', 'PROCESS', 'OPERATION', 'TARGET', 'WHY'];
/** Names of processes in one cell; of more only the number is told. */
const PROCESSES_SHOWN = 3;
const LEAST_COLUMNS = 40;

/** @param {any} stdout */
function stylesFor({ isTTY }) {
  const coloured = isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  const style = (on, off) => (text) => (coloured ? `\x1b[${on}m${text}\x1b[${off}m` : text);
  return { heading: style(1, 22), operation: style(31, 39), why: style(2, 22) };
}

/** Without milliseconds. @param {string} timestamp */
function timeText(timestamp) {
  return new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ');
}

/** @param {Set<string>} processes */
function processesText(processes) {
  const names = [...processes].map(printable);
  const more = names.length - PROCESSES_SHOWN;
  return `${names.slice(0, PROCESSES_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** @param {import('./log-lines').Group} group */
function cellsOf(group) {
  const [first, last] = [timeText(group.first), timeText(group.last)];
  const sameDay = first.slice(0, 10) === last.slice(0, 10);
  const why = group.why === undefined ? '' : printable(group.why);
  return [String(group.count), first, sameDay ? last.slice(11) : last, processesText(group.processes), printable(group.operation), targetOf(group), why];
}

/** @param {string} text @param {number} width */
function cut(text, width) {
  const characters = [...text];
  return characters.length > width ? `${characters.slice(0, Math.max(width - 1, 0)).join('')}…` : text;
}

/** Rows of the table; a terminal's are no wider than it. @param {import('./log-lines').Group[]} groups @param {any} stdout */
function tableOf(groups, stdout) {
  const rows = [HEADINGS, ...groups.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => [...cells[column]].length)));
  const styles = stylesFor(stdout);
  const columns = Math.max(stdout.columns ?? Infinity, LEAST_COLUMNS);
  return rows.map((cells, row) => {
    const padded = cells.map((text, column) => (column === 0 ? text.padStart(widths[0]) : text + ' '.repeat(widths[column] - [...text].length)));
    const before = padded.slice(0, 4).join('  ');
    const [, , , , operation, target, why] = padded;
    const line = cut([before, operation, target, why].join('  ').trimEnd(), columns);
    if (row === 0) return styles.heading(line);
    return line.replace(operation.trimEnd(), (text) => styles.operation(text));
  });
}

/** @param {string} file @param {(line: string) => void} add */
async function readLines(file, add) {
  const splitter = new LineSplitter();
  const stream = file === STDIN ? process.stdin : fs.createReadStream(file);
  for await (const chunk of stream) splitter.push(chunk).forEach(add);
  splitter.end().forEach(add);
}

/** @param {any} error */
function reasonOf(error) {
  return util.getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
}

/** @param {string[]} files @param {boolean} json @param {any} streams @returns {Promise<number>} */
async function show(files, json, { stdout, stderr }) {
  const summary = new LogSummary();
  let failed = 0;
  for (const file of files) {
    try {
      await readLines(file, (line) => summary.add(line));
    } catch (error) {
      failed = 1;
      stderr.write(`os-sandbox: log: ${printable(file)}: ${reasonOf(error)}\n`);
    }
  }
  const groups = summary.groups();
  const { dropped, malformed } = summary;
  if (json) {
    const plain = groups.map((group) => ({ ...group, processes: [...group.processes] }));
    stdout.write(`${JSON.stringify({ groups: plain, dropped, malformed }, undefined, 2)}\n`);
    return failed;
  }
  if (groups.length > 0) stdout.write(`${tableOf(groups, stdout).join('\n')}\n`);
  else if (failed === 0) stdout.write('nothing was refused\n');
  if (dropped > 0) stdout.write(`${dropped} more refused, of which no line tells\n`);
  if (malformed > 0) stderr.write(`os-sandbox: log: ${malformed} ${malformed === 1 ? 'line is' : 'lines are'} not of a violation log\n`);
  return failed;
}

/** One line as it comes; counts and gaps as well. @param {string} text @param {any} stdout */
function followedLine(text, stdout) {
  if (text === '') return undefined;
  const line = parseLine(text);
  if (!line) return 'a line that is not of a violation log';
  const time = timeText(line.timestamp);
  if (line.type === 'dropped') return `${time}  ${line.count} more refused, of which no line tells`;
  const styles = stylesFor(stdout);
  const told = violationLine(line).replace(/^deny \S+/, (words) => styles.operation(words));
  return `${time}  ${printable(line.process) || '-'}  ${told}${line.type === 'count' ? ` (×${line.count})` : ''}`;
}

/** @param {string[]} files @param {any} streams @returns {Promise<number>} */
async function follow(files, { stdout, stderr }) {
  const { Follower } = require('./log-follow');
  const tell = (text) => {
    const line = followedLine(text, stdout);
    if (line !== undefined) stdout.write(`${line}\n`);
  };
  const complain = (file, reason) => stderr.write(`os-sandbox: log: ${printable(file)}: ${reason}\n`);
  const followOne = async (file) => {
    if (file === STDIN) return readLines(file, tell);
    let splitter = new LineSplitter();
    const follower = new Follower(file, (chunk) => {
      if (chunk) splitter.push(chunk).forEach(tell);
      else splitter = new LineSplitter();
    });
    await follower.look();
    if (!follower.isThere) complain(file, 'waiting for it to be there');
    return follower.go();
  };
  const failed = files.map((file) => followOne(file).then(() => 0, (error) => {
    complain(file, reasonOf(error));
    return 1;
  }));
  // All others can go on being followed.
  return Math.max(...(await Promise.all(failed)));
}

/** @param {{ flags: any, words: string[], stdout: any, stderr: any }} invocation */
async function main({ flags, words, stdout, stderr }) {
  if (flags.follow && flags.json) throw new UsageError('--json: contradicts --follow, which tells line by line');
  return flags.follow ? follow(words, { stdout, stderr }) : show(words, Boolean(flags.json), { stdout, stderr });
}

module.exports = { main };
