'use strict';

/** The command line makes no sense: nothing was run. */
class UsageError extends Error {
  name = 'UsageError';
}

module.exports = { UsageError };
