'use strict';
// Writes the JSON Schema of settings files from the addon's own table; a test compares it with what is there.

const fs = require('node:fs');
const path = require('node:path');
const { loadNative } = require('../lib/native');

const FILE = path.join(__dirname, '..', 'lib', 'settings.schema.json');

const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const LABEL = '[A-Za-z0-9_-]{1,63}';
const NAME = `${LABEL}(\\.${LABEL})*\\.?`;
const V6 = '[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*';
const V4 = '[0-9A-Fa-fxX]+(\\.[0-9A-Fa-fxX]+){0,3}\\.?';
const V4_BLOCK = '[0-9]{1,3}(\\.[0-9]{1,3}){3}/[0-9]{1,2}';

const text = { type: 'string', minLength: 1, maxLength: 65536, pattern: '^[^\\u0000]+$' };

/** A string of each kind. What a pattern cannot say, such as the values of an address's parts, the program checks. */
const ENTRIES = {
  text,
  path: { type: 'string', maxLength: 4095, pattern: '^(~(/[^\\u0000]*)?|[^~\\u0000][^\\u0000]*)$' },
  'fixed-path': { type: 'string', maxLength: 4095, pattern: '^(/[^\\u0000]*|~(/[^\\u0000]*)?)$' },
  domain: {
    type: 'string',
    pattern: `^((\\*|(\\*\\.)?${NAME}|\\[${V6}\\])(:${PORT})?|${V6})$`,
    examples: ['example.com', '*.example.com', 'api.example.com:443', '192.0.2.7', '[2001:db8::7]:443'],
  },
  address: {
    type: 'string',
    pattern: `^((${V4}|${V4_BLOCK}|\\[${V6}(/[0-9]{1,3})?\\])(:${PORT})?|${V6}(/[0-9]{1,3})?)$`,
    examples: ['192.0.2.7', '192.0.2.0/24', '[2001:db8::/32]:443'],
  },
  upstream: {
    type: 'string',
    pattern: '^(direct|[Hh][Tt][Tt][Pp]://[^/?#\\\\\\u0000]+/?|[^/?#\\\\\\u0000]+:[0-9]+/?)$',
  },
  'default-read': { enum: ['allow', 'deny'] },
};

function definitionsOf(table) {
  const names = { enum: table.protected.flatMap((name) => [name, `${name}/`]) };
  return { ...ENTRIES, protected: names };
}

function entryOf(entry) {
  return { $ref: `#/$defs/${entry}` };
}

function listOf(table, entry) {
  return { type: 'array', maxItems: table.entries, items: entryOf(entry) };
}

function optionSchema(table, row) {
  if (row.later) return { enum: row.inert, description: 'Not supported by this version.' };
  switch (row.kind) {
    case 'object': return { type: 'object', properties: propertiesOf(table, row.key), additionalProperties: false };
    case 'strings': return listOf(table, row.entry);
    case 'string': return entryOf(row.entry);
    case 'boolean': return { type: 'boolean' };
    case 'number': return { type: 'integer', minimum: row.least, maximum: row.most };
    default: return {
      type: 'object',
      maxProperties: table.entries,
      propertyNames: { minLength: 1 },
      additionalProperties: listOf(table, row.entry),
    };
  }
}

/** What is no option: some are for other programs, some cannot be honoured. */
function foreignSchema(row) {
  switch (row.action) {
    case 'note': return { type: 'string' };
    case 'unasked': return { type: 'boolean', description: 'True: nobody is asked about connections.' };
    case 'ignored': return { deprecated: true, description: `Has no effect: ${row.reason}.` };
    default: return { enum: row.inert, description: `Cannot be honoured: ${row.reason}.` };
  }
}

function propertiesOf(table, group) {
  const options = table.options.filter((row) => row.group === group).map((row) => [row.key, optionSchema(table, row)]);
  const foreign = table.foreign.filter((row) => row.group === group).map((row) => [row.key, foreignSchema(row)]);
  return Object.fromEntries([...options, ...foreign]);
}

/** An enum needs a value: no value is right where there is none. @param {any} schema @returns {any} */
function withoutEmptyEnums(schema) {
  if (Array.isArray(schema) || typeof schema !== 'object' || schema === null) return schema;
  const { enum: values, ...rest } = schema;
  const members = Object.entries(rest).map(([key, value]) => [key, withoutEmptyEnums(value)]);
  const none = Array.isArray(values) && values.length === 0;
  return { ...Object.fromEntries(members), ...(none ? { not: {} } : values && { enum: values }) };
}

function buildSchema() {
  const table = JSON.parse(loadNative().addon.settingsTable());
  return withoutEmptyEnums({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:operon-os-sandbox:settings',
    title: 'Settings of os-sandbox',
    type: 'object',
    properties: propertiesOf(table, ''),
    additionalProperties: false,
    $defs: definitionsOf(table),
  });
}

/** As the file has it. */
function schemaText() {
  return `${JSON.stringify(buildSchema(), null, 2)}\n`;
}

module.exports = { FILE, schemaText };

if (require.main === module) fs.writeFileSync(FILE, schemaText());
