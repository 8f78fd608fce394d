'use strict';

// Bun aborts the process on libuv calls and Deno dies at a missing symbol: both must be known before the addon is loaded.
const FOREIGN_RUNTIMES = ['bun', 'deno'];
const PLATFORMS = ['linux', 'darwin'];

/**
 * Why this process cannot have a sandbox at all, or undefined.
 * @param {{ versions: Record<string, string | undefined>, platform: string }} [host]
 * @returns {string | undefined}
 */
function unsupportedRuntime({ versions, platform } = process) {
  const runtime = FOREIGN_RUNTIMES.find((name) => versions[name]);
  if (runtime) return `unsupported runtime: ${runtime} ${versions[runtime]} (Node.js only)`;
  if (!PLATFORMS.includes(platform)) return `unsupported platform: ${platform} (macOS/Linux only)`;
  return undefined;
}

module.exports = { unsupportedRuntime };
