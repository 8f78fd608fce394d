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
runtime=$(realpath "$(cc -print-file-name=libasan.so)")
status=0
for file in "$@"; do
    echo "# $file"
    LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=1 node --require ./scripts/drop-preload.js "$file" || status=1
done
exit "$status"
