#!/usr/bin/env bash
# Loads and runs this build on another Node: test-node.sh MAJOR [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/scratch.sh

package=node-$(node -p 'process.platform + "-" + process.arch')
npm install --prefix "$scratch" --no-audit --no-fund --no-save --loglevel=error "$package@$1" >/dev/null
shift
[ $# -gt 0 ] || set -- "${node_tests[@]}"

files=("${@/#/test/}")
files=("${files[@]/%/.test.js}")

export PATH="$scratch/node_modules/$package/bin:$PATH"
echo "# Node $(node -v)"
node node_modules/.bin/tap run --reporter=tap "${files[@]}"
