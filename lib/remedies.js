'use strict';

/** What to do about what a sandbox says of its host: the doctor's words, and those of README.md's troubleshooting. */

const { installCommand } = require('./distribution');

const CONTAINER = 'docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined …';

/** The first that the text is of. @type {ReadonlyArray<{ symptom: RegExp, remedy: (install: typeof installCommand) => string }>} */
const REMEDIES = [
  { symptom: /bubblewrap \(bwrap|no bwrap/, remedy: (install) => install('bubblewrap') },
  { symptom: /user\.max_user_namespaces is 0/, remedy: () => 'sysctl -w user.max_user_namespaces=15000' },
  { symptom: /CAP_SETFCAP/, remedy: () => 'docker run --cap-add SETFCAP …' },
  { symptom: /container forbids/, remedy: () => CONTAINER },
  { symptom: /unprivileged user namespaces are off/, remedy: () => 'sysctl -w kernel.unprivileged_userns_clone=1' },
  {
    symptom: /AppArmor restricts/,
    remedy: (install) =>
      `${install('apparmor-profiles')} && cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && systemctl reload apparmor`,
  },
  { symptom: /seccomp filter around this process/, remedy: () => 'start it outside of the program that filters it' },
  { symptom: /Linux 5\.9 or newer/, remedy: () => 'a kernel of 5.9 or newer; 5.19 or newer for all of it' },
  { symptom: /no-addons|loading addons is disabled/i, remedy: () => 'node without --no-addons' },
  { symptom: /permission|allow-addons/i, remedy: () => 'node without --permission' },
  { symptom: /^native addon not loaded/, remedy: () => 'npm rebuild operon-os-sandbox' },
  { symptom: /^unsupported (platform|runtime)|Node\.js \d+ is too old/, remedy: () => 'Node.js 20 or newer, on Linux' },
  { symptom: /^refused attempts are not reported/, remedy: () => 'Linux 5.19 or newer, not under a tracer or a container runtime that takes the notifications of system calls' },
  { symptom: /^this kernel takes no filter/, remedy: () => 'a kernel with CONFIG_SECCOMP_FILTER' },
  { symptom: /no fresh \/proc/, remedy: () => CONTAINER },
  { symptom: /^this kernel or host does not let mounts/, remedy: () => 'Linux 5.12 or newer, and a container that lets open_tree, move_mount and mount_setattr pass' },
  { symptom: /^commands can make user namespaces/, remedy: () => 'bubblewrap 0.8 or newer' },
  { symptom: /no network namespace for a whole sandbox/, remedy: () => CONTAINER },
  { symptom: /makes no gateway|no network at all/, remedy: () => 'modprobe veth' },
  { symptom: /this proxy of the environment cannot be used/, remedy: () => 'name an http:// proxy in network.upstreamProxy, or "direct"' },
  { symptom: /^no cgroup/, remedy: () => 'systemd-run --user --scope -p Delegate=yes COMMAND' },
];

/**
 * @param {string} text of status.reason, status.warnings or the doctor
 * @param {typeof installCommand} [install]
 * @returns {string | undefined}
 */
function remedyFor(text, install = installCommand) {
  return REMEDIES.find(({ symptom }) => symptom.test(text))?.remedy(install);
}

module.exports = { remedyFor };
