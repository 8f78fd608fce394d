'use strict';

const { classesFor } = require('./classes.js');
const { requireCore } = require('./core.js');
const { shellQuoteArg, toSrtInvocation } = require('./shell.js');

const { core, warnings } = requireCore();

module.exports = { ...classesFor(core, warnings), shellQuoteArg, toSrtInvocation };
