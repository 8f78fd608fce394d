#!/bin/sh
# Installs the development dependencies where they are missing or older than the lock file.
set -eu
cd "$(dirname "$0")/.."
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ -n "$(find package-lock.json -newer "$installed")" ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    touch "$installed"
fi
