#!/usr/bin/env bash
# The linters over C, shell and JavaScript; every one runs, the first exit status that is not 0 is kept.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
status=0

run() {
    echo "--- $1"
    "$@" || status=1
}

mapfile -t sources < <(find csrc test/unit test/fuzz -name '*.c' 2>/dev/null | sort)
mapfile -t headers < <(find csrc test/unit test/fuzz -name '*.h' 2>/dev/null | sort)
mapfile -t scripts < <(find scripts -name '*.sh' | sort)
include=$(node -p 'path.join(path.dirname(path.dirname(process.execPath)), "include/node")')
read -ra language <<<"$(node scripts/cflags.js language) -Itest/unit -isystem $include"
read -ra warnings <<<"$(node scripts/cflags.js warnings)"

# shellcheck disable=SC2317 # called through run
analyze() {
    local source failed=0
    # Ownership through a vector and reads by system calls are beyond this analyzer; the sanitizers see both.
    local off=(-Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value)
    for source in "${sources[@]}"; do
        cc "${language[@]}" "${warnings[@]}" -O2 -fanalyzer "${off[@]}" -c -o /dev/null "$source" || failed=1
    done
    return "$failed"
}

# shellcheck disable=SC2317,SC2016 # called through run; the inner shell expands
tidy() {
    find csrc -name '*.c' -print0 |
        FLAGS="${language[*]}" xargs -0 -n 4 -P 2 sh -c 'clang-tidy --quiet "$@" -- $FLAGS 2>/dev/null' sh
}

run clang-format --dry-run -Werror "${sources[@]}" "${headers[@]}"
run analyze
run tidy
run cppcheck --quiet --error-exitcode=1 --enable=warning,portability,performance --inline-suppr --std=c11 \
    --suppress=missingIncludeSystem -D_GNU_SOURCE -Icsrc csrc
run shellcheck -x "${scripts[@]}" .ci/run
run node_modules/.bin/tsc --noEmit
run node_modules/.bin/publint --strict
run node_modules/.bin/attw --pack .
exit "$status"
