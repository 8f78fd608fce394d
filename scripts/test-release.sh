#!/bin/sh
# The tests of what is published: they compile for every target. Arguments go to tap.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh --release
sh scripts/node-modules.sh
exec node_modules/.bin/tap run --reporter=tap --include='test/release/*.test.js' "$@"
