'use strict';
// Nothing changes for honest programs: what they print, how they end and which files they make is the same in the
// sandbox and outside of it, and nothing is reported where nothing was refused.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { compile, onTmpfs, Places } = require('./helpers/honest');
const { makePackageTree } = require('./helpers/package-tree');
const { makePythonIndex } = require('./helpers/python-index');
const { scratchFolder } = require('./helpers/sandbox');

const ROOT = path.join(__dirname, '..');

/** A moment of nanoseconds, for everything that a script made. */
const SET_TIMES = `find . -exec touch -h -d '2001-02-03 04:05:06.789012345' {} +`;

/** One of every kind, with modes, names, attributes and an ACL. */
const MAKE_ZOO = `umask 0
  mkdir -p zoo/sub zoo/ünï; mkdir -m 2775 zoo/shared; mkdir -m 1777 zoo/sticky
  echo a > zoo/file; echo b > zoo/sub/run.sh; echo c > zoo/read-only
  ln -s ../file zoo/sub/link; ln -s nowhere zoo/dangling; ln zoo/file zoo/hard; mkfifo -m 600 zoo/fifo
  chmod 4755 zoo/sub/run.sh; chmod 0640 zoo/file; chmod 0444 zoo/read-only
  setfattr -n user.note -v text zoo/file; setfattr -n user.note -v folder zoo/sub
  setfacl -m u:$(id -u):r zoo/file; setfacl -d -m g:$(id -g):rwx zoo/shared; : > zoo/shared/inherits
  ${SET_TIMES}`;

/**
 * Serves the files of a folder on localhost while the commands run, which know its $port.
 * @param {string} folder
 * @param {string} commands
 */
const withServer = (folder, commands) => `
  /usr/bin/python3 -u -m http.server --bind 127.0.0.1 --directory ${folder} 0 > port 2> /dev/null & server=$!
  until port=$(grep -so 'port [0-9]*' port); do sleep 0.05; done
  port=\${port#port }; ${commands}
  kill $server; wait $server || true; rm port`;

/** Copies files of this repository. @param {string[]} names */
const copyOwn = (...names) => (/** @type {string} */ folder) => {
  for (const name of names) fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
};

/** Whether the workspaces and /tmp lie on one file system of this host. */
const ONE_VOLUME = fs.statSync('/tmp').dev === fs.statSync('/var/tmp').dev;

/** What is not the same, by the checks of honest/differences.py; a row that no longer holds fails. */
const DIFFERENCES = {
  // A pid of the supervisor's, which makes connects and messages, has no number inside.
  the_pid_of_who_connected: { outside: 'its own', inside: '0' },
  the_pid_of_who_sent_a_message: { outside: 'its own', inside: '0' },
  // Nobody but the command's own user has a number in its user namespace; outside it has no right.
  files_of_another_user: { outside: 'EPERM', inside: 'EINVAL' },
  // Write roots are mounts of their own: programs copy, as between file systems.
  a_move_between_write_roots: { outside: ONE_VOLUME ? 'None None' : 'EXDEV ENOENT', inside: 'EXDEV ENOENT' },
  // Their flags are in memory, where no filter can see them. Libraries do without.
  openat2_and_clone3: { outside: 'EINVAL EINVAL', inside: 'ENOSYS ENOSYS' },
};

/** @param {string} stdout of a script with checks: name → what it printed */
function checksOf(stdout) {
  const blocks = stdout.split(/^== /m).slice(1);
  return Object.fromEntries(blocks.map((block) => block.trimEnd().split(/\n(.*)/s).slice(0, 2)));
}

t.test('the same in the sandbox and outside:', async (t) => {
  const places = await Places.open(t);
  const same = (/** @type {string} */ name, /** @type {any} */ work) => t.test(name, (t) => places.compare(t, work));

  await same('tar of every kind of file', {
    times: true,
    command: `set -e
      ${MAKE_ZOO}
      tar --xattrs --acls --numeric-owner --format=posix --sort=name -cf all.tar zoo
      tar -tvf all.tar
      mkdir out
      tar --xattrs --acls --numeric-owner -xpf all.tar -C out
      tar -C out -xvf all.tar
      tar -cJf - -C out . | tar -xJ --one-top-level=deep --strip-components=1
      tar -df all.tar
      rm all.tar
      ${SET_TIMES}`,
  });

  await same('cp, mv, ln, install, dd, truncate, mktemp, rm', {
    times: true,
    command: `set -e
      ${MAKE_ZOO}
      exec 2>&1
      cp -a zoo copy
      rm zoo/dangling
      cp -rl zoo linked
      mv zoo/sub zoo/moved
      mv -n copy/file copy/hard || true
      mv -T copy/shared copy/new
      install -D -m 751 zoo/file a/b/c/tool
      install -d -m 700 a/private
      ln -sfn a current; ln -sfT a/b current; ln -f zoo/file zoo/again
      dd if=/dev/zero of=zeros bs=1k count=4 status=none
      truncate -s 1M sparse; truncate -s 10 zeros; fallocate -l 4096 blocks
      d=$(mktemp -d); f=$(mktemp -p .); stat -c '%a %F' "$d" "$f"; rmdir "$d"; rm "$f"
      d=$(mktemp -d /dev/shm/XXXXXX); mv copy/file "$d"/; mv "$d"/file copy/back; rmdir "$d"
      chmod -R u=rwX,go=rX copy; chmod +t copy
      touch -d 2020-02-02 copy/times; cp --preserve=all copy/times copy/times2
      rm -rf linked; rm zoo/moved/link; rmdir zoo/sticky; unlink zoo/again
      sed -i s/a/A/ copy/back; sort -o copy/back copy/back
      find copy -name 'hard' -delete
      ${SET_TIMES}`,
  });

  const SHELL = `umask 027
    echo one > a; echo two >> a; : > b; set -C; echo three > a; echo $?; set +C
    exec 3<> both; echo x >&3; exec 3>&-
    cat < a | tee copy | wc -l; cat <<< here; cat <(echo sub); echo out > >(cat > sub-out); sleep 0.1
    mkdir dir; mkdir dir; mkdir -p dir/x/y dir/x; rmdir dir; echo $?; echo > dir
    echo > missing/x; cat missing; rm missing; cd missing
    mkfifo pipe; (echo through > pipe &); cat pipe
    trap 'echo trapped' USR1; kill -USR1 $$; (exit 7); echo $?
    sleep 100 & kill $!; wait $!; echo $?
    yes | head -1; echo \${PIPESTATUS[@]}
    echo n > /dev/null; echo e > /dev/stderr; echo o > /dev/stdout; echo f > /dev/fd/1; echo p > /proc/self/fd/1
    : > /dev/full && echo w > /dev/full; ls /dev/tty > /dev/null
    (ulimit -f 1; exec head -c 4096 /dev/zero > big); echo $?; stat -c %s big
    ln -s loop loop; cat loop; echo > loop; touch ""; touch "$(printf %300s x)"; test -w a && echo writable`;
  await same('shells: redirections, jobs, traps, pipes, failures', {
    // LocalMachine's pipes are sockets, which no path opens again.
    command: ['bash', '-c', 'bash -c "$0" 2>&1 | cat', SHELL],
    normalize: (/** @type {string} */ text) => text.replace(/(line \d+:) +\d+ /g, '$1 PID '),
  });

  await same('find, xargs, grep, sed, awk, perl over many small files', {
    command: `set -e
      for d in $(seq 10); do mkdir d$d; for f in $(seq 50); do echo "line $f" > d$d/f$f; done; done
      find . -name 'f1*' | xargs -P 2 -n 50 sed -i s/line/LINE/
      grep -rl LINE . | wc -l
      find . -name 'f2*' -delete; find . -type f | wc -l
      perl -pi -e 's/line/perl/' d1/*
      awk '{ print > "awk-" NR % 3 }' d2/*; cat awk-*
      find . -empty -type d -delete; cat d1/* | sort | uniq -c`,
  });

  const who = (/** @type {string} */ role) => ({
    [`GIT_${role}_NAME`]: 'n',
    [`GIT_${role}_EMAIL`]: 'e@example.com',
    [`GIT_${role}_DATE`]: '2001-02-03T04:05:06Z',
  });
  await same('git: init, commit, branch, merge, stash, rebase, worktree, clone, gc', {
    volatile: /(^|\/)(index|ORIG_HEAD|logs|\.git\/.*\.(pack|idx|rev))$/,
    env: { ...who('AUTHOR'), ...who('COMMITTER') },
    command: `set -e; exec 2>&1
      git init -q -b main repo; cd repo
      mkdir sub; echo a > sub/a; echo b > b; chmod +x b; ln -s b c; git add -A; git commit -qm first; git status --short
      git checkout -qb side; echo 2 >> sub/a; git commit -qam second
      git checkout -q main; echo 3 > d; git add d; git commit -qm third; git merge -q side -m merged
      echo 4 >> d; git stash -q; git stash pop -q; git status --short; git diff; git checkout -q -- d; git tag v1
      git checkout -q side; git rebase -q main; git log --format='%H %s'
      git worktree add -q ../tree main; (cd ../tree; echo 5 > e; git add e; git commit -qm fifth); git worktree list
      git clone -q . ../clone; git -C ../clone log --oneline -1
      git mv sub moved; git rm -q b; git commit -qm moved; git gc -q; git fsck; git status`,
  });

  await same('rsync -a, again, with deletions and hard links', {
    times: true,
    command: `set -e
      ${MAKE_ZOO}
      rsync -aHAX -i zoo/ copy
      echo more >> zoo/file; rm zoo/read-only; rsync -aHAX -i --delete zoo/ copy
      rsync -a --inplace zoo/ copy; rsync -a --backup --suffix=~ --checksum zoo/ copy; rsync -rin zoo/ copy
      ${SET_TIMES}`,
  });

  await same('sqlite in WAL mode with several processes', {
    volatile: /-(shm|wal)$|\.db$/,
    command: `set -e
      q() { sqlite3 -cmd '.timeout 20000' test.db "$@"; }
      q 'pragma journal_mode=wal; create table t(who int, n int)'
      for who in 1 2 3; do (for n in $(seq 15); do q "insert into t values($who, $n)"; done) & done; wait
      q 'select who, count(*), sum(n) from t group by who; pragma integrity_check; pragma wal_checkpoint(truncate)'
      q 'vacuum; pragma journal_mode=delete'; q .dump | sort | sha1sum
      sqlite3 test.db '.backup copy.db'; cmp <(sqlite3 copy.db .dump) <(q .dump); ls`,
  });

  await same('make -j4 of a C project', {
    prepare: copyOwn('csrc', 'scripts'),
    volatile: /\.a$/,
    command: `set -e
      find csrc -name '*.c' ! -path 'csrc/base/*' ! -path 'csrc/policy/*' -delete
      library() { make "$@" -f scripts/unit.mk SANITIZE=-O0 build/unit/tested.a; }
      library -s -j4; ar t build/unit/tested.a | sort; library`,
  });

  await same('every call with a path, on every kind of path', { prepare: compile('calls'), command: onTmpfs('./calls') });
  await same('some of them on a disk', { prepare: compile('calls'), command: './calls 37' });
  await same('calls with two paths, on many pairs of kinds', { prepare: compile('pairs'), command: onTmpfs('./pairs 3') });
  const script = (/** @type {string} */ name) => ['/usr/bin/python3', '-B', path.join(__dirname, 'honest', name)];
  await same('masks, descriptors, limits, locks and events', { command: script('files.py') });
  await same('signals, threads, children, terminals, rules of its own', { command: script('processes.py') });
  await same('sockets of every family, with messages, descriptors and time-outs', { command: script('sockets.py') });
  await same("servers of Python's own library", { command: script('servers.py') });

  await same('gdb with a program of its own', {
    prepare: compile('traced'),
    // /proc is read-only: gdb says so, and writes by ptrace.
    normalize: (/** @type {string} */ text) =>
      text.replace(/^warning: opening .*mem file.*\n/gm, '').replace(/0x[0-9a-f]+|LWP \d+|process \d+|pid=\d+/g, 'N'),
    command: `exec 2>&1
      gdb -batch -nx -ex 'break make_folder' -ex 'run > out' -ex bt -ex 'print name' -ex continue -ex 'print $_thread' -ex up \\
        -ex 'set var made = 10' -ex delete -ex 'catch syscall wait4' -ex continue -ex continue -ex continue ./traced
      cat out
      gdb -batch -nx -ex 'catch syscall mkdir' -ex run -ex continue -ex kill ./traced | grep -c Catchpoint
      rmdir one two; ./traced; echo $?`,
  });

  await same('strace of its own children', {
    prepare: compile('traced'),
    // Numbers and addresses are left out, and calls that depend on the time. There is no clone3 in the sandbox: then
    // libraries call clone.
    command: `show() {
        for log in $(ls log.* | sort -t. -k2n); do
          echo '== process'
          sed -E 's/^clone3?\\(.*ENOSYS.*//; s/^clone3?\\(.*/clone/; s/0x[0-9a-f]+/N/g; s/ = [0-9]+.*/ = ok/; s/S_IF(SOCK|IFO)/PIPE/' $log |
            sed -E 's/[0-9]{3,}/N/g; s/si_pid=[0-9]+, .*//; s/\\[[0-9]+\\]/[PID]/g; s/, N.*//; /^$/d' | grep -vE "^($1|[-+]{3})"
        done
        rm log.*
      }
      trace() { strace -qq -ff -o log "$@"; echo $?; show "$hidden"; }
      hidden='brk|m(map|unmap|protect)|arch_prctl|set_(tid|robust)|rseq|prlimit|getrandom|futex|p?read|wait4|rt_sig|getpid|exit|kill'
      trace sh -c 'mkdir d; echo x > d/f; ls d; mv d/f d/g; chmod 600 d/g; ln -s g d/l; cat d/l missing; rm -r d; mkdir /; rmdir .'
      trace ./traced`,
  });

  const packages = scratchFolder(t);
  makePackageTree(packages, 'rimraf');
  await same('npm ci from tarballs, and from a server on localhost', {
    volatile: /^cache|\.package-lock\.json$/,
    env: { npm_config_update_notifier: 'false', npm_config_logs_max: '0' },
    normalize: (/** @type {string} */ text) => text.replace(/ in \d+m?s/g, ''),
    prepare: (/** @type {string} */ folder) => fs.cpSync(packages, folder, { recursive: true }),
    command: `set -e
      npm_ci() { npm ci --no-audit --no-fund --cache cache "$@"; }
      npm_ci --offline; node_modules/.bin/rimraf --version; rm -rf node_modules cache
      ${withServer('.', 'sed -i "s,file:tarballs,http://127.0.0.1:$port/tarballs," package-lock.json; npm_ci')}
      rm -r package-lock.json cache`,
  });

  const index = scratchFolder(t);
  makePythonIndex(index);
  const python = '/usr/bin/python3 -B';
  const quiet = '--quiet --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-build-isolation';
  await same('pip install of a wheel and an sdist from a local index', {
    volatile: /\.pyc$|RECORD$|direct_url/,
    command: `set -e
      ${withServer(index, `${python} -m pip install ${quiet} --index-url http://127.0.0.1:$port/simple --target site honest-app`)}
      export PYTHONPATH=site; ${python} -m honest_app; ${python} site/bin/honest-app`,
  });

  await t.test('but for a few things', async (t) => {
    const [outside, ...sandboxes] = await places.everywhere({ command: script('differences.py') });
    const expected = (/** @type {'outside' | 'inside'} */ side) =>
      Object.fromEntries(Object.entries(DIFFERENCES).map(([name, row]) => [name, row[side]]));
    t.same(checksOf(outside.stdout), expected('outside'), outside.name);
    for (const { name, stdout, stderr } of sandboxes) {
      t.same(checksOf(stdout), expected('inside'), name);
      t.equal(stderr, '');
    }
  });
});
