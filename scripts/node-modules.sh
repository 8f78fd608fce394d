#!/bin/sh
# Installs the development dependencies where they are missing or older than the lock file.
set -eu
cd "$(dirname "$0")/.."
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ -n "$(find package-lock.json -newer "$installed")" ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    # Else the first run would build it, after it had started tests with plugins that .taprc turns off.
    node_modules/.bin/tap build >/dev/null
    touch "$installed"
fi
