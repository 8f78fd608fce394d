#include "plan/sbpl_tables.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const struct sbpl_row sbpl_process_rows[] = {
    {"(allow process-exec)",
     "programs start programs; a setuid one (ps, top, sudo) is refused by the system"},
    {"(allow process-fork)", "shells"},
    {"(allow signal (target same-sandbox))", "kill, job control: no process of the host"},
    {"(if (defined? 'nvram*) (deny nvram*))", "the default does not cover it"},
    {"(deny process-info*)", "the default does not cover it"},
    {"(allow process-info* (target same-sandbox))", "getpgid, proc_pidinfo: wait loops of shells, go, node"},
    {"(allow file-map-executable)", "libraries: what may be read may be mapped"},
    {"(allow iokit-get-properties)", "os.cpus() of node: clock rates are properties of the device tree"},
    {"(allow ipc-posix-sem)", "multiprocessing of Python: named semaphores"},
    {"(allow ipc-posix-shm-read* (ipc-posix-name \"apple.shm.notification_center\"))", "notify(3)"},
    {"(allow ipc-posix-shm-read-data ipc-posix-shm-write-create ipc-posix-shm-write-data "
     "ipc-posix-shm-write-unlink (ipc-posix-name-prefix \"/psm_\"))",
     "multiprocessing.shared_memory of Python"},
    {"(allow ipc-posix-shm-read-data ipc-posix-shm-write-create ipc-posix-shm-write-unlink "
     "(ipc-posix-name-regex \"^/__KMP_REGISTERED_LIB_[0-9]+$\"))",
     "OpenMP: numpy"},
    {"(allow pseudo-tty)", "openpty(3): script, expect, node-pty"},
    {"(allow system-socket (socket-domain AF_UNIX))",
     "socket pairs; which names may be reached is said below"},
    {"(allow sysctl-write (sysctl-name \"kern.tcsm_enable\"))", "V8 asks for its threads' memory mode so"},
};
const size_t sbpl_process_row_count = COUNT(sbpl_process_rows);

const struct sbpl_row sbpl_mach_services[] = {
    {"com.apple.system.opendirectoryd.libinfo", "getpwuid(3), getgrgid(3): shells' ~, git's author, ls -l"},
    {"com.apple.system.opendirectoryd.membership", "getgrouplist(3), id(1): whose groups a user is in"},
    {"com.apple.system.notification_center", "notify(3): libinfo and the time zone ask it for changes"},
    {"com.apple.system.logger", "syslog(3): it takes lines and gives nothing"},
    {"com.apple.logd", "os_log(3): as above"},
    {"com.apple.bsd.dirhelper", "confstr(3), _CS_DARWIN_USER_TEMP_DIR and _CACHE_DIR: clang, swift, mktemp"},
};
const size_t sbpl_mach_service_count = COUNT(sbpl_mach_services);

#define NAME(name) "(sysctl-name \"" name "\")"
#define PREFIX(name) "(sysctl-name-prefix \"" name "\")"

const struct sbpl_row sbpl_sysctls[] = {
    {PREFIX("hw."), "processors, memory, page size: every runtime sizes itself by them"},
    {PREFIX("machdep.cpu."), "brand and features of Intel processors"},
    {NAME("machdep.ptrauth_enabled"), "dyld"},
    {NAME("kern.argmax"), "sysconf(3): xargs, go"},
    {NAME("kern.bootargs"), "libSystem at its start"},
    {NAME("kern.hostname"), "gethostname(3)"},
    {NAME("kern.iossupportversion"), "dyld at each start"},
    {NAME("kern.maxfiles"), "limits of libuv and go"},
    {NAME("kern.maxfilesperproc"), "limits of libuv and go"},
    {NAME("kern.maxproc"), "sysconf(3)"},
    {NAME("kern.ngroups"), "sysconf(3)"},
    {NAME("kern.osproductversion"), "the system's version: clang, cargo, node"},
    {NAME("kern.osrelease"), "uname(3)"},
    {NAME("kern.ostype"), "uname(3)"},
    {NAME("kern.osvariant_status"), "libSystem at its start"},
    {NAME("kern.osversion"), "uname(3)"},
    {NAME("kern.secure_kernel"), "libSystem at its start"},
    {NAME("kern.tcsm_available"), "V8"},
    {NAME("kern.tcsm_enable"), "V8"},
    {NAME("kern.usrstack64"), "pthread(3): where the main thread's stack is"},
    {NAME("kern.version"), "uname(3)"},
    {NAME("kern.willshutdown"), "libSystem"},
    {NAME("security.mac.lockdown_mode_state"), "whether a JIT is there: node"},
    {NAME("sysctl.proc_cputype"), "Rosetta: arch(1)"},
    {NAME("vm.loadavg"), "getloadavg(3): make -l, os.loadavg()"},
    {PREFIX("kern.proc.pgrp."), "job control of shells"},
    {PREFIX("kern.proc.pid."), "whether a process is there, and being debugged"},
    {PREFIX("net.routetable."), "getifaddrs(3): os.networkInterfaces()"},
};
const size_t sbpl_sysctl_count = COUNT(sbpl_sysctls);

#define FILE_AT(path) "(literal \"" path "\")"

const struct sbpl_device sbpl_devices[] = {
    {FILE_AT("/dev/null"), true, true, "everything"},
    {FILE_AT("/dev/zero"), true, true, "everything"},
    {FILE_AT("/dev/random"), false, true, "random(4)"},
    {FILE_AT("/dev/urandom"), false, true, "random(4)"},
    {FILE_AT("/dev/tty"), true, true, "the command's own terminal, if any"},
    {FILE_AT("/dev/stdin"), false, false, "fd(4)"},
    {FILE_AT("/dev/stdout"), true, false, "fd(4)"},
    {FILE_AT("/dev/stderr"), true, false, "fd(4)"},
    {"(subpath \"/dev/fd\")", true, false, "fd(4): process substitution of shells"},
    {FILE_AT("/dev/dtracehelper"), true, true, "dyld registers probes at each start"},
    {FILE_AT("/dev/autofs_nowait"), false, false, "libSystem opens it before it looks at mount points"},
    {FILE_AT("/dev/ptmx"), true, true, "openpty(3)"},
    {"(require-all (regex \"^/dev/ttys[0-9]+$\") (extension \"com.apple.sandbox.pty\"))", true, true,
     "terminals that the command opened itself"},
};
const size_t sbpl_device_count = COUNT(sbpl_devices);

const struct sbpl_path sbpl_runtime_paths[] = {
    {"/System/Library", "frameworks; the shared cache of dyld before macOS 13"},
    {"/System/Cryptexes", "links to the below"},
    {"/System/Volumes/Preboot/Cryptexes", "the shared cache of dyld since macOS 13"},
    {"/System/iOSSupport/System/Library", "frameworks of Catalyst"},
    {"/Library/Apple", "frameworks that updates bring"},
    {"/Library/Frameworks", "Python's installer"},
    {"/Library/Developer/CommandLineTools", "clang, git: what xcrun(1) leads to"},
    {"/Library/Java/JavaVirtualMachines", "java_home(1)"},
    {"/Applications/Xcode.app/Contents", "clang, git: what xcrun(1) leads to"},
    {"/usr/bin", "programs"},
    {"/usr/sbin", "programs"},
    {"/bin", "programs"},
    {"/sbin", "programs"},
    {"/usr/lib", "libraries, dyld itself"},
    {"/usr/libexec", "what programs run themselves"},
    {"/usr/share", "locales, terminfo, zoneinfo, icu, git-core"},
    {"/opt/homebrew", "Homebrew on Apple silicon"},
    {"/usr/local/Cellar", "Homebrew on Intel: what /usr/local/bin leads to"},
    {"/usr/local/opt", "Homebrew on Intel"},
    {"/opt/local", "MacPorts"},
    {"/nix/store", "nix"},
    {"/private/var/select", "/bin/sh asks which shell it is"},
    {"/private/var/db/xcode_select_link", "xcode-select(1): where the developer tools are"},
    {"/private/var/db/timezone", "localtime(3)"},
    {"/private/var/db/dyld", "the shared cache of dyld before macOS 11"},
    {"/private/etc/ssl", "CA certificates of LibreSSL and OpenSSL"},
    {"/private/etc/hosts", "hosts(5)"},
    {"/private/etc/localtime", "localtime(5)"},
    {"/private/etc/services", "services(5)"},
    {"/private/etc/protocols", "protocols(5)"},
    {"/private/etc/resolv.conf", "resolver(5)"},
    {"/private/etc/paths", "path_helper(8)"},
    {"/private/etc/paths.d", "path_helper(8)"},
    {"/private/etc/profile", "bash(1), sh(1)"},
    {"/private/etc/bashrc", "bash(1)"},
    {"/private/etc/zshenv", "zsh(1)"},
    {"/private/etc/zprofile", "zsh(1)"},
    {"/private/etc/zshrc", "zsh(1)"},
};
const size_t sbpl_runtime_path_count = COUNT(sbpl_runtime_paths);

const struct sbpl_path sbpl_credentials[] = {
    {"Library/Keychains", "security(1): the user's keychains"},
    {"Library/Cookies", "Safari and WebKit: cookies"},
    {"Library/Safari", "Safari: history, open tabs"},
    {"Library/Containers/com.apple.Safari", "Safari: cookies, website data"},
    {"Library/HTTPStorages", "NSURLSession: cookies"},
    {"Library/Mail", "Mail: messages"},
    {"Library/Messages", "Messages: one-time codes"},
    {"Library/Group Containers/2BUA8C4S2C.com.1password", "1Password"},
    {"Library/Application Support/1Password", "1Password"},
    {"Library/Application Support/Bitwarden", "Bitwarden"},
    {"Library/Application Support/com.apple.TCC", "tccutil(1): what programs may do"},
    {"Library/Application Support/Firefox", "Firefox profiles: cookies, logins"},
    {"Library/Application Support/Google/Chrome", "Chrome profiles"},
    {"Library/Application Support/Chromium", "Chromium profiles"},
    {"Library/Application Support/BraveSoftware", "Brave profiles"},
    {"Library/Application Support/Microsoft Edge", "Edge profiles"},
    {"Library/Application Support/Vivaldi", "Vivaldi profiles"},
    {"Library/Application Support/com.operasoftware.Opera", "Opera profiles"},
    {"Library/Application Support/Arc", "Arc profiles"},
};
const size_t sbpl_credential_count = COUNT(sbpl_credentials);
