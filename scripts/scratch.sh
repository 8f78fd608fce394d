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

# The tests of the addon and the helper, but for those that measure memory and descriptors, or give a program of
# their own the place of one of ours.
# shellcheck disable=SC2034 # for the script that sources this
addon_tests=(denials explain files limits lifecycle network-api network-asking network-lifecycle network-ports options
    private-folders run run-process run-stop runtime sbpl settings smoke supervisor unix-sockets violations workers)
# Whether it loads and runs on another version of Node: the entries, a run, the network, and clients that are Node's own.
# shellcheck disable=SC2034 # for the script that sources this
node_tests=(smoke run run-process runtime options workers entries network-http clients-node cli)

# What asks nothing of the sandbox, or nothing that depends on who runs it: for a plain user in check-all.sh only.
# shellcheck disable=SC2034 # for the script that sources this
same_for_everybody=(cli-completion cli-log cli-parse clients-compiled clients-daemons clients-node clients-web
    entries honest host-spellings http-differential install local-machine local-stop machine-files many network-load
    options runtime sbpl settings-schema shell types)
