'use strict';
// Preloaded into a sanitized node: commands must not inherit the sanitizer's runtime, other nodes must.

delete process.env.LD_PRELOAD;
delete process.env.ASAN_OPTIONS;
delete process.env.LSAN_OPTIONS;
delete process.env.DETECT_LEAKS;
process.execPath = /** @type {string} */ (process.env.SANITIZED_NODE);
