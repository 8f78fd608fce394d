#!/usr/bin/env bash
# Everything: the continuous integration, the linters and a minute of every fuzz target.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/stages.sh

check 'set-up' sh scripts/setup.sh --check
check 'continuous integration' .ci/run
stage 'plain user, all of it' bash scripts/test-user.sh --all
stage 'honest programs, whole suites' npm test -- --timeout=3600 test/honest/suites.test.js
check 'release builds' bash scripts/test-reproducible.sh
check 'linters' bash scripts/lint.sh
check 'fuzzing' bash scripts/fuzz.sh 60
finish
