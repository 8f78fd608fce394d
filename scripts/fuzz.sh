#!/usr/bin/env bash
# Runs every test/fuzz/NAME_fuzz.c on its corpus: fuzz.sh [SECONDS | --runs COUNT]
# By time it goes on where it was; a count of runs is the same runs each time.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = --runs ]; then
    bound=("-runs=$2" -seed=1)
    found=$(mktemp -d)
    trap 'rm -rf "$found"' EXIT
else
    bound=("-max_total_time=${1:-60}")
    found=build/fuzz/corpus
fi

make -s -j2 -f scripts/unit.mk fuzz
for source in test/fuzz/*_fuzz.c; do
    name=$(basename "$source" _fuzz.c)
    mkdir -p "$found/$name"
    seeds=()
    [ ! -d "test/fuzz/corpus/$name" ] || seeds=("test/fuzz/corpus/$name")
    # New cases of a run by time go below build/: those worth keeping are moved into the repository by hand.
    "build/fuzz/${name}_fuzz" "${bound[@]}" -print_final_stats=1 "$found/$name" "${seeds[@]}"
done
