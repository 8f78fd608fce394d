'use strict';

/** What this host can do, in the words of `status`. */

/**
 * @typedef {import('./session').Features} Features
 * @typedef {import('..').OsSandboxLimits} Limits
 */

/**
 * What each thing that this host refuses means for commands.
 * @typedef {object} Degradation
 * @property {Part} [part] of the host that lacks something
 * @property {(features: Features, limits: Limits) => boolean} is
 * @property {string} text
 * @property {'supervisionGap' | 'networkGap' | 'limitsGap'} [gap] where the host's own words about it are
 * @property {Probed} [feature] or what the probe missed: the host's words about the first of these are in `degradation`
 *
 * @typedef {'network' | 'mounts' | 'system calls'} Part
 * @typedef {'sessionNetwork' | 'mountedBefore' | 'disableUserns' | 'freshProc'} Probed
 */

/** @type {readonly Probed[]} in the order in which the probe does without */
const PROBED = ['sessionNetwork', 'mountedBefore', 'disableUserns', 'freshProc'];


/** @type {readonly Degradation[]} */
const DEGRADATIONS = [
  {
    part: 'network',
    feature: 'sessionNetwork',
    is: ({ sessionNetwork }) => !sessionNetwork,
    text: 'this host makes no network namespace for a whole sandbox: each command has its own, commands do not share localhost, clients that ignore proxy variables (HTTP_PROXY, …) reach nothing, and no port is exposed',
  },
  {
    part: 'network',
    is: ({ sessionNetwork, capture }) => sessionNetwork && capture === 'proxy',
    text: 'clients that ignore proxy variables (HTTP_PROXY, …) reach nothing: this host makes no gateway for the network of a sandbox',
    gap: 'networkGap',
  },
  {
    part: 'network',
    is: ({ capture }) => capture === 'none',
    text: 'commands have no network at all, whatever the options allow: it could not be started',
    gap: 'networkGap',
  },
  {
    part: 'mounts',
    feature: 'mountedBefore',
    is: ({ mountedBefore }) => !mountedBefore,
    text: 'this kernel or host does not let mounts be made by descriptor (Linux 5.12): bwrap mounts by name, and a path that is swapped meanwhile ends the run with an error',
  },
  {
    part: 'system calls',
    feature: 'disableUserns',
    is: ({ disableUserns, filtered }) => !disableUserns && !filtered,
    text: 'commands can make user namespaces inside the sandbox: this bwrap (before 0.8) or this host cannot forbid it',
  },
  {
    part: 'mounts',
    feature: 'freshProc',
    is: ({ freshProc }) => !freshProc,
    text: 'no fresh /proc can be mounted here (in a container: --security-opt systempaths=unconfined): commands see the outer one, read-only',
  },
  {
    part: 'system calls',
    is: ({ filtered }) => !filtered,
    text: 'this kernel takes no filter of system calls (CONFIG_SECCOMP_FILTER): io_uring, keyrings and whatever else no command needs are not refused',
    gap: 'supervisionGap',
  },
  {
    part: 'system calls',
    is: ({ supervised }) => !supervised,
    text: 'refused attempts are not reported, connections to unix sockets of the host are not held to network.allowUnixSockets, and protected or denied names are closed only where they are when a command starts: that takes Linux 5.19, and no tracer or container runtime outside that has the notifications of system calls itself',
    gap: 'supervisionGap',
  },
  {
    is: ({ limits }, { memoryBytes }) => limits === 'rlimits' && memoryBytes !== undefined,
    text: 'limits.memoryBytes holds for each process of a command, not for all of them together: no cgroup can be had here',
    gap: 'limitsGap',
  },
];

/** @param {Features} features @param {boolean} monitored whether violations are */
function guaranteesOf(features, monitored) {
  return Object.freeze({
    filesystem: 'enforced',
    network: features.sessionNetwork ? 'session' : 'per-command',
    capture: features.capture,
    backend: 'bwrap',
    protectedNames: features.supervised ? 'enforced' : 'existing-only',
    unixSockets: features.supervised ? 'enforced' : 'not-enforced',
    violations: features.supervised && monitored ? 'reported' : 'none',
    systemCalls: features.filtered ? 'filtered' : 'unfiltered',
    userNamespaces: features.disableUserns || features.filtered ? 'disabled' : 'nested-allowed',
    proc: features.freshProc ? 'private' : 'host-read-only',
    ...(features.limits !== 'none' && { limits: features.limits }),
  });
}

/** @param {Features} features @param {Limits} [limits] those that were asked for @returns {string[]} */
function degradationsOf(features, limits = {}) {
  const first = PROBED.find((feature) => !features[feature]);
  return DEGRADATIONS.filter(({ is }) => is(features, limits)).map(({ text, gap, feature }) => {
    const own = gap ? features[gap] : feature === first && features.degradation;
    return own ? `${text} (${own})` : text;
  });
}

/** The part of the host that a warning is about; undefined where it is about something else. @param {string} warning */
function partOf(warning) {
  return DEGRADATIONS.find(({ text }) => warning.startsWith(text))?.part;
}

module.exports = { degradationsOf, guaranteesOf, partOf };
