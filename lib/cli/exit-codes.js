'use strict';

/** What the command line exits with where it is not the command's own, as sysexits.h and `env` have them; 126 and 127 come from the run. */
module.exports = { USAGE: 64, CONFIG: 78, SANDBOX: 125 };
