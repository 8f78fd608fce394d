#!/usr/bin/env bash
# The tests as a plain user who owns the checkout: a copy, a home, and a node that this user can execute.
# test-user.sh [--all | FILE...]: those of running and of security where nothing is said.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/scratch.sh

if [ $# = 0 ]; then
    for file in test/*.test.js; do
        name=$(basename "$file" .test.js)
        [[ " ${same_for_everybody[*]} " == *" $name "* ]] || set -- "$@" "$file"
    done
elif [ "$1" = --all ]; then
    shift
fi

# A test may leave a process of this user behind; the user is made for this run alone.
user=sbx$$
remove_user() {
    pkill -KILL -U "$user" && sleep 0.5
    userdel "$user"
    remove_scratch
}
useradd --system --no-create-home --home-dir "$scratch/home" --shell /bin/bash "$user"
trap 'set +e; remove_user' EXIT

prefix=$(node -p 'path.dirname(path.dirname(process.execPath))')
if ! runuser -u "$user" -- test -x "$prefix/bin/node"; then
    mkdir -p "$scratch/node/lib/node_modules"
    cp -r "$prefix/bin" "$scratch/node/bin"
    cp -r "$prefix/include" "$scratch/node/include"
    cp -r "$prefix/lib/node_modules/npm" "$scratch/node/lib/node_modules/npm"
    prefix=$scratch/node
fi

copy_checkout "$scratch/checkout"
# The unit tests' programs are the same for everybody: what has been built of them is not built again.
if [ -d build/unit ]; then
    mkdir "$scratch/checkout/build"
    cp -a build/unit "$scratch/checkout/build/unit"
fi
mkdir "$scratch/home"
chown -R "$user:" "$scratch"

as_user() {
    runuser -u "$user" -- env -i CI=true HOME="$scratch/home" USER="$user" SHELL=/bin/bash LANG="${LANG:-C.UTF-8}" \
        PATH="$prefix/bin:/usr/local/bin:/usr/bin:/bin" "$@"
}

cd "$scratch/checkout"
as_user npm test -- "$@"
