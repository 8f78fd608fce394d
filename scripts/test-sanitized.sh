#!/usr/bin/env bash
# Builds addon and helper with ASan, UBSan and leak detection, in a copy, and runs the tests on them.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$PWD/node_modules
. scripts/scratch.sh

copy_checkout "$scratch" --exclude=./node_modules
cd "$scratch"
ln -s "$modules" node_modules

# The musl helper does not go with ASan: here it is built dynamically.
sanitize='-fsanitize=address,undefined'
CFLAGS="$sanitize -fno-sanitize-recover=undefined -g -O1" LDFLAGS="$sanitize" HELPER_CC="cc" node scripts/build.js

# Not these: the unit tests are sanitized anyway, and an install builds its own binary.
if [ $# = 0 ]; then
    mapfile -t files < <(ls test/*.test.js | grep -vE '/(unit|install)\.test\.js$')
    set -- "${files[@]}"
fi
# Tests start other nodes by process.execPath: that is this wrapper.
cat >"$scratch/sanitized-node" <<WRAPPER
#!/bin/sh
LD_PRELOAD=$(realpath "$(cc -print-file-name=libasan.so)") exec $(node -p process.execPath) \\
    --require "$scratch/scripts/sanitized-node.js" "\$@"
WRAPPER
chmod +x "$scratch/sanitized-node"
export SANITIZED_NODE="$scratch/sanitized-node" ASAN_OPTIONS=detect_leaks=1

status=0
for file in "$@"; do
    echo "# $file"
    "$SANITIZED_NODE" "$file" || status=1
done
exit "$status"
