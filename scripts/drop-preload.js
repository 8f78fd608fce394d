'use strict';
// Preloaded into a sanitized node: its children must not inherit the sanitizer's runtime.

delete process.env.LD_PRELOAD;
