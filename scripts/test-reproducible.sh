#!/usr/bin/env bash
# Release builds are the same wherever they are made: once here, and once in another folder with nothing in its caches.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/scratch.sh

node scripts/prebuild.js
copy_checkout "$scratch/elsewhere" --exclude=./node_modules --exclude=./prebuilds
XDG_CACHE_HOME="$scratch/cache" node "$scratch/elsewhere/scripts/prebuild.js"
diff -r prebuilds "$scratch/elsewhere/prebuilds"
