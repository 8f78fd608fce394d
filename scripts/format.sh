#!/usr/bin/env bash
# Formats the C sources in place.
set -euo pipefail
cd "$(dirname "$0")/.."
find csrc test/unit test/fuzz \( -name '*.c' -o -name '*.h' \) -print0 2>/dev/null | xargs -0 clang-format -i
