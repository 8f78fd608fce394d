#!/bin/sh
# Builds the exec helper: build-helper.sh OUTPUT, or --inputs to print what it is made of.
# HELPER_CC replaces compiler and linkage, CFLAGS and LDFLAGS add flags (for a sanitized build).
# shellcheck disable=SC2086,SC2046 # the lists below are meant to be split into words
set -eu
cd "$(dirname "$0")/.."

# Library-free files only: archives made for glibc do not link with musl.
base_sources='csrc/base/path.c csrc/base/glob.c csrc/base/socket_list.c'
policy_sources='csrc/policy/protected_names.c csrc/policy/name_fold.c csrc/policy/git_config*.c csrc/policy/cost_limits.c'
sources="$(node scripts/list-sources.js csrc/exec) $base_sources $policy_sources"

if [ "${1:-}" = --inputs ]; then
    printf '%s\n' $sources csrc/exec/*.h csrc/base/*.h csrc/plan/mount_kind.h csrc/platform/run_end.h csrc/policy/git_config*.h csrc/policy/protected_names.h csrc/policy/name_fold.h csrc/policy/cost_limits.h
    exit
fi
output=$1

compiles() {
    printf 'int main(void) { return 0; }\n' | "$@" -x c -o /dev/null - 2>/dev/null
}

# The smallest and fastest to start comes first.
if [ -n "${HELPER_CC:-}" ]; then
    compiler=$HELPER_CC
elif compiles musl-gcc -static; then
    compiler="musl-gcc -s -static -idirafter /usr/include -idirafter /usr/include/$(cc -print-multiarch)"
elif compiles cc -static; then
    compiler='cc -s -static'
else
    compiler='cc -s'
fi

$compiler -O2 $(node scripts/cflags.js) ${CFLAGS:-} -o "$output" $sources ${LDFLAGS:-}
