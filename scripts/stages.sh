# shellcheck shell=bash
# Sourced: runs named stages, adds up the TAP summaries that they print, and gives the verdict.

passed=0
failed=0
skipped=0
stages_log=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$stages_log" "$failures"' EXIT

# count KEY: the sum of that number over the summary lines of the stage that ran last.
count() {
    grep '^# { total:' "$stages_log" | grep -oE "$1: [0-9]+" | awk '{ sum += $2 } END { print sum + 0 }'
}

# What failed in the stage that ran last: told again at the end, where it is found.
keep_failures() {
    grep -E '^ *not ok' "$stages_log" | sed "s/^/$1: /" >>"$failures"
}

add() {
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

# stage NAME COMMAND...: tests. A stage that breaks or runs nothing has failed, whatever its summary says.
stage() {
    local name=$1 status pass fail
    shift
    echo "=== $name"
    SECONDS=0
    "$@" </dev/null 2>&1 | tee "$stages_log"
    status=${PIPESTATUS[0]}
    keep_failures "$name"
    pass=$(count pass) fail=$(count fail)
    if [ "$fail" = 0 ] && { [ "$status" != 0 ] || [ "$pass" = 0 ]; }; then fail=1; fi
    add "$pass" "$fail" "$(count skip)"
    echo "=== $name: $pass passed, $fail failed, $(count skip) skipped (exit $status, ${SECONDS}s)"
}

# check NAME COMMAND...: something that has only an exit status.
check() {
    local name=$1
    shift
    echo "=== $name"
    if "$@" </dev/null >"$stages_log" 2>&1; then
        add 1 0 0
    else
        add 0 1 0
        cat "$stages_log"
        echo "$name: failed" >>"$failures"
    fi
    echo "=== $name: done"
}

# Nothing may be skipped here: what is skipped was not tested.
finish() {
    cat "$failures"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$passed" -gt 0 ] && [ "$failed" = 0 ] && [ "$skipped" = 0 ]
    exit
}
