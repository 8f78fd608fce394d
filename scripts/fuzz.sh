#!/usr/bin/env bash
# Runs every test/fuzz/NAME_fuzz.c for SECONDS on its corpus: fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}

make -s -f scripts/unit.mk fuzz
for source in test/fuzz/*_fuzz.c; do
    name=$(basename "$source" _fuzz.c)
    mkdir -p "build/fuzz/corpus/$name"
    seeds=()
    [ ! -d "test/fuzz/corpus/$name" ] || seeds=("test/fuzz/corpus/$name")
    # New cases go below build/: those worth keeping are moved into the repository by hand.
    "build/fuzz/${name}_fuzz" -max_total_time="$seconds" -print_final_stats=1 "build/fuzz/corpus/$name" "${seeds[@]}"
done
