#!/bin/sh
# The tests, from a fresh clone: set-up, dependencies, build, then tap. Arguments go to tap.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh --test
sh scripts/node-modules.sh
node scripts/build.js
# What nobody but root can do on any host has a folder of its own; named files are taken as they are.
[ "$(id -u)" != 0 ] || set -- --include='test/*.test.js' --include='test/root/*.test.js' "$@"
[ -t 1 ] || set -- --reporter=tap "$@"
exec node_modules/.bin/tap run "$@"
