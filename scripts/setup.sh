#!/bin/sh
# Installs the system packages that are missing: setup.sh [--test | --release | --check]
#   (none)   what building and running need      --test   and what the tests need      --check   and the linters
#   --release   and what the tests of the package need
# Without the right to install it says exactly what to install, and fails.
set -eu

# need     found by              Debian, Ubuntu       Fedora               Alpine               Arch
packages() {
    cat <<'TABLE'
run        command:bwrap         bubblewrap           bubblewrap           bubblewrap           bubblewrap
build      command:cc            gcc                  gcc                  gcc                  gcc
build      header:stdio.h        libc6-dev            glibc-devel          musl-dev             glibc
build      header:linux/types.h  linux-libc-dev       kernel-headers       linux-headers        linux-api-headers
build      command:make          make                 make                 make                 make
build      command:python3       python3              python3              python3              python
build      header:jansson.h      libjansson-dev       jansson-devel        jansson-dev          jansson
nice       command:musl-gcc      musl-tools           musl-gcc             -                    musl
test       library:uv           libuv1-dev           libuv-devel          libuv-dev            libuv
test       command:git           git                  git                  git                  git
test       command:curl          curl                 curl                 curl                 curl
test       command:ps            procps               procps-ng            procps               procps-ng
test       command:unshare       util-linux           util-linux           util-linux           util-linux
test       command:bash          bash                 bash                 bash                 bash
test       command:ssh-agent     openssh-client       openssh-clients      openssh-client       openssh
test       command:dbus-daemon   dbus                 dbus-daemon          dbus                 dbus
test       command:gpg-agent     gpg-agent            gnupg2               gnupg                gnupg
test       command:tmux          tmux                 tmux                 tmux                 tmux
test       command:strace        strace               strace               strace               strace
test       command:gdb           gdb                  gdb                  gdb                  gdb
test       command:rsync         rsync                rsync                rsync                rsync
test       command:sqlite3       sqlite3              sqlite               sqlite               sqlite
test       command:setfattr      attr                 attr                 attr                 attr
test       command:setfacl       acl                  acl                  acl                  acl
test       command:xz            xz-utils             xz                   xz                   xz
test       command:perl          perl                 perl                 perl                 perl
test       command:setpriv       util-linux           util-linux           setpriv              util-linux
test       command:ip            iproute2             iproute              iproute2             iproute2
test       command:openssl       openssl              openssl              openssl              openssl
test       command:wget          wget                 wget                 wget                 wget
test       command:socat         socat                socat                socat                socat
test       command:nc            netcat-openbsd       netcat               netcat-openbsd       openbsd-netcat
test       command:dig           dnsutils             bind-utils           bind-tools           bind
test       command:host          bind9-host           bind-utils           bind-tools           bind
test       command:/usr/sbin/sshd openssh-server      openssh-server       openssh-server       openssh
test       command:redis-server  redis-server         redis                redis                redis
test       command:redis-cli     redis-tools          redis                redis                redis
test       postgres:             postgresql           postgresql-server    postgresql           postgresql
test       command:psql          postgresql-client    postgresql           postgresql-client    postgresql
test       command:javac         default-jdk-headless java-devel           openjdk21            jdk-openjdk
test       command:/usr/bin/go   golang-go            golang               go                   go
test       python:pip            python3-pip          python3-pip          py3-pip              python-pip
test       command:clang         clang                clang                clang                clang
test       libfuzzer:            libclang-rt-dev      compiler-rt          compiler-rt          compiler-rt
release    command:qemu-aarch64  qemu-user            qemu-user            qemu-aarch64         qemu-user
release    file:/usr/aarch64-linux-gnu/lib/libstdc++.so.6 libstdc++6-arm64-cross - - -
release    command:readelf      binutils             binutils             binutils             binutils
check      command:/usr/bin/cargo cargo                cargo                cargo                rust
check      python:test.test_os    libpython3-testsuite python3-test         python3              python
check      command:clang-tidy    clang-tidy           clang-tools-extra    clang-extra-tools    clang
check      command:clang-format  clang-format         clang-tools-extra    clang-extra-tools    clang
check      command:cppcheck      cppcheck             cppcheck             cppcheck             cppcheck
check      command:shellcheck    shellcheck           ShellCheck           shellcheck           shellcheck
TABLE
}

case "${1:-}" in
--check) needs='run build nice test release check' ;;
--release) needs='run build nice test release' ;;
--test) needs='run build nice test' ;;
'') needs='run build nice' ;;
*)
    echo "usage: setup.sh [--test | --release | --check]" >&2
    exit 2
    ;;
esac

present() {
    case "$1" in
    file:*) [ -e "${1#file:}" ] ;;
    command:*) command -v "${1#command:}" >/dev/null 2>&1 ;;
    python:*) /usr/bin/python3 -c "import ${1#python:}" 2>/dev/null ;;
    library:*) echo 'int main(void) { return 0; }' | cc -x c -o /dev/null - "-l${1#library:}" 2>/dev/null ;;
    header:*) printf '#include <%s>\n' "${1#header:}" | cc -E -x c -o /dev/null - 2>/dev/null ;;
    postgres:) [ -n "$(ls /usr/lib/postgresql/*/bin/postgres /usr/bin/postgres 2>/dev/null)" ] ;;
    libfuzzer:*) [ -n "$(find /usr/lib -name 'libclang_rt.fuzzer*.a' 2>/dev/null | head -n 1)" ] ;;
    esac
}

# missing COLUMN NEED...: the names in that column of the rows of these needs that are not found.
missing() {
    column=$1
    shift
    packages | while read -r need check names; do
        case " $* " in *" $need "*) ;; *) continue ;; esac
        present "$check" && continue
        printf '%s\n' "$names" | awk -v n="$column" '$n != "-" { print $n }'
    done | sort -u | tr '\n' ' '
}

# Word splitting is meant: a list of needs.
# shellcheck disable=SC2046,SC2086
wanted=$(missing 1 $needs)
[ -n "$wanted" ] || exit 0

install_all() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root='sudo -n'
    sudo -n true 2>/dev/null || as_root=none
fi

if command -v apt-get >/dev/null 2>&1 && [ "$as_root" != none ]; then
    # These packages carry a version in their names.
    case "$wanted" in
    *libclang-rt-dev*)
        version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
        wanted=$(printf '%s' "$wanted" | sed "s/libclang-rt-dev/libclang-rt-$version-dev/")
        ;;
    esac
    case "$wanted" in
    *libpython3-testsuite*)
        version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        wanted=$(printf '%s' "$wanted" | sed "s/libpython3-testsuite/libpython$version-testsuite/")
        ;;
    esac
    echo "Installing: $wanted"
    $as_root apt-get update -qq || true
    # One by one where they do not go together; what is missing in the end is said below.
    # shellcheck disable=SC2086
    install_all $wanted || for package in $wanted; do install_all "$package" || true; done
    # shellcheck disable=SC2086
    wanted=$(missing 1 $needs)
    [ -n "$wanted" ] || exit 0
fi

# shellcheck disable=SC2046,SC2086
set -- $(printf '%s' "$needs" | sed 's/nice//')
required=$(missing 1 "$@")
if [ -z "$required" ]; then
    echo "Not installed, and useful (a faster start of every command): $wanted"
    exit 0
fi
# shellcheck disable=SC2046,SC2086
{
    echo "Something is missing that cannot be installed from here. Install, as root:"
    echo "  Debian, Ubuntu  apt-get install $(missing 1 $needs)"
    echo "  Fedora          dnf install $(missing 2 $needs)"
    echo "  Alpine          apk add $(missing 3 $needs)"
    echo "  Arch            pacman -S $(missing 4 $needs)"
} >&2
exit 1
