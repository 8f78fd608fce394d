#!/bin/sh
# The demonstration, from a fresh clone: set-up, build, and real commands in a sandboxed machine.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh
node scripts/build.js >/dev/null
exec node examples/demo.js
