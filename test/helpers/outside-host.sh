#!/bin/sh
# The host of a network test and the internet that it sees: outside-host.sh FOLDER NODE FILE
# To be started in a network and a mount namespace of its own, with every capability there. Joins it by a veth pair to a
# second one, where outside-internet.js serves, gives it the files of a resolver, and becomes the test, as whoever it was
# started by and without a capability.
set -eu
folder=$1 node=$2 file=$3
here=$(dirname "$0")
PATH=$PATH:/usr/sbin:/sbin

# Where servers are: every one of these addresses is the internet's own. Among them are those that look like something
# of the host's: what leaks to them is seen.
internet='192.0.2.0/24 198.51.100.0/24 198.18.0.0/15 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 168.63.129.16/32 93.184.216.0/24
    2001:db8::/48 fd00:ec2::/32'

if [ "$file" = internet ]; then
    echo apart >"$folder/apart"
    read -r _ <"$folder/joined"
    # The test's processes are not seen from here, and end with the first of this namespace.
    mount -t proc proc /proc || true
    mount -t tmpfs tmpfs /run
    mkdir /run/sshd
    ip link set lo up
    ip address add 203.0.113.1/24 dev net0
    ip address add 2001:db8:ffff::1/64 dev net0 nodad
    ip link set net0 up
    for block in $internet; do ip route add local "$block" dev lo; done
    ip address add 2001:db8::53/128 dev lo nodad
    exec "$node" "$here/outside-internet.js" "$folder"
fi

mkfifo "$folder/apart" "$folder/joined"
unshare --net --mount --pid --fork --kill-child sh "$0" "$folder" "$node" internet </dev/null >"$folder/internet.log" 2>&1 &
apart=$!
read -r _ <"$folder/apart"
ip link set lo up
ip link add host0 type veth peer name net0 netns "$apart"
ip address add 203.0.113.2/24 dev host0
ip address add 2001:db8:ffff::2/64 dev host0 nodad
ip link set host0 up
echo joined >"$folder/joined"
ip route add default via 203.0.113.1
ip -6 route add default via 2001:db8:ffff::1

echo 'nameserver 192.0.2.53' >"$folder/resolv.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$folder/hosts"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
mount --bind "$folder/hosts" /etc/hosts
[ "$(id -u)" = 0 ] || exec setpriv --inh-caps=-all --ambient-caps=-all "$node" "$file"
exec "$node" "$file"
