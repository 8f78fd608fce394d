# shellcheck shell=bash
# Sourced: a folder under /var/tmp (below /tmp every command may write) that is removed at the end.

scratch=$(mktemp -d /var/tmp/os-sandbox-test.XXXXXX)
remove_scratch() { rm -rf "$scratch"; }
trap remove_scratch EXIT

# copy_checkout TARGET: the working tree without its history and its build.
copy_checkout() {
    mkdir -p "$1"
    tar -c --exclude=./.git --exclude=./build --exclude=./.tap "${@:2}" . | tar -x -C "$1"
}
