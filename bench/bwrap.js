'use strict';
// bwrap as others call it, to see what everything around it adds.

const UNSHARE = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--unshare-net'];

/** The namespaces, and one bind. */
function plainOptions() {
  return ['bwrap', ...UNSHARE, '--die-with-parent', '--ro-bind', '/', '/', '--'];
}

/** All that a run in an empty workspace has, by options alone; its network namespace belongs to a session. @param {string} cwd */
function sameSandbox(cwd) {
  const namespaces = UNSHARE.filter((word) => word !== '--unshare-net');
  return [
    ...['bwrap', ...namespaces, '--as-pid-1', '--die-with-parent', '--cap-drop', 'ALL', '--disable-userns'],
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--perms', '1777', '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--proc', '/proc', '--remount-ro', '/proc', '--bind', '/tmp', '/tmp', '--bind', cwd, cwd, '--chdir', cwd, '--'],
  ];
}

module.exports = { plainOptions, sameSandbox };
