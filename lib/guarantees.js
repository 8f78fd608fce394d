'use strict';

/** What this host can do, in the words of `status`. */

/** @typedef {import('./session').Session['features']} Features */

/**
 * What each thing that this host refuses means for commands; nothing where another feature does the same.
 * @type {ReadonlyArray<[feature: string, text: string, instead?: string]>}
 */
const DEGRADATIONS = [
  ['sessionNetwork', 'this host makes no network namespace for a whole sandbox: each command has its own, and commands do not share localhost'],
  ['mountedBefore', 'this kernel or host does not let mounts be made by descriptor (Linux 5.12): bwrap mounts by name, and a path that is swapped meanwhile ends the run with an error'],
  ['disableUserns', 'commands can make user namespaces inside the sandbox: this bwrap (before 0.8) or this host cannot forbid it', 'filtered'],
  ['freshProc', 'no fresh /proc can be mounted here (in a container: --security-opt systempaths=unconfined): commands see the outer one, read-only'],
  ['filtered', 'this kernel takes no filter of system calls (CONFIG_SECCOMP_FILTER): io_uring, keyrings and whatever else no command needs are not refused'],
  ['supervised', 'refused attempts are not reported, connections to unix sockets of the host are not held to network.allowUnixSockets, and protected or denied names are closed only where they are when a command starts: that takes Linux 5.19, and no tracer or container runtime outside that has the notifications of system calls itself'],
];

/** @param {Features} features @param {boolean} monitored */
function guaranteesOf(features, monitored) {
  return Object.freeze({
    filesystem: 'enforced',
    network: features.sessionNetwork ? 'session' : 'per-command',
    backend: 'bwrap',
    protectedNames: features.supervised ? 'enforced' : 'existing-only',
    unixSockets: features.supervised ? 'enforced' : 'not-enforced',
    violations: features.supervised && monitored ? 'reported' : 'none',
    systemCalls: features.filtered ? 'filtered' : 'unfiltered',
    userNamespaces: features.disableUserns || features.filtered ? 'disabled' : 'nested-allowed',
    proc: features.freshProc ? 'private' : 'host-read-only',
  });
}

/** @param {Features} features @returns {string[]} */
function degradationsOf(features) {
  const refused = DEGRADATIONS.filter(([feature]) => !features[feature]);
  // The host's own words: about the supervisor, and about what it refused first besides.
  const words = refused.map(([feature, text], i) => {
    const own = feature === 'supervised' || feature === 'filtered' ? features.supervisionGap : i === 0 && features.degradation;
    return own ? `${text} (${own})` : text;
  });
  return words.filter((_, i) => !features[refused[i][2] ?? '']);
}

module.exports = { degradationsOf, guaranteesOf };
