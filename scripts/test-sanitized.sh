#!/usr/bin/env bash
# Builds addon and helper with ASan, UBSan and leak detection, in a copy, and runs tests on them:
# test-sanitized.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$PWD/node_modules
. scripts/scratch.sh

copy_checkout "$scratch" --exclude=./node_modules
cd "$scratch"
ln -s "$modules" node_modules

# The helper's processes leave their memory to the kernel when they end, which is no leak.
cat >asan_options.c <<'C'
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
C

# The musl helper does not go with ASan: here it is built dynamically.
sanitize='-fsanitize=address,undefined'
CFLAGS="$sanitize -fno-sanitize-recover=undefined -g -O1" LDFLAGS="$sanitize" HELPER_CC="cc asan_options.c" \
    node scripts/build.js

[ $# -gt 0 ] || set -- "${addon_tests[@]}"

# Node frees its own record of an external value in a collection of garbage, or never.
echo 'leak:^napi_create_external$' >leaks_of_node

# Tests start other nodes by process.execPath: that is this wrapper. Leaks are looked for in the tests' own process:
# a node that ends in the middle of things leaves much of its own. No PWD: the shell would set it, and a test compares.
cat >"$scratch/sanitized-node" <<WRAPPER
#!/bin/sh
exec env -u PWD LD_PRELOAD=$(realpath "$(cc -print-file-name=libasan.so)") \\
    ASAN_OPTIONS=detect_leaks=\${DETECT_LEAKS:-0} \\
    LSAN_OPTIONS=suppressions=$scratch/leaks_of_node:print_suppressions=0 \\
    $(node -p process.execPath) --require "$scratch/scripts/sanitized-node.js" "\$@"
WRAPPER
chmod +x "$scratch/sanitized-node"
export SANITIZED_NODE="$scratch/sanitized-node" TAP_TIMEOUT=300

# Two at a time, each with its own output.
status=0
# shellcheck disable=SC2016 # the inner shell expands
printf '%s\n' "$@" | DETECT_LEAKS=1 xargs -P 2 -I NAME sh -c '"$SANITIZED_NODE" "test/$0.test.js" >"$0.log" 2>&1' NAME ||
    status=1
for name in "$@"; do
    echo "# $name"
    cat "$name.log"
done
exit "$status"
