'use strict';

/** What the command line exits with where it is not the command's own; as sysexits.h, `env` and shells have them. */
module.exports = { USAGE: 64, CONFIG: 78, SANDBOX: 125, NOT_EXECUTABLE: 126, NOT_FOUND: 127 };
