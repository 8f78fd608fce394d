/*
 * What only a machine's owner may do: device nodes, the clock, names, modules. Arguments: a folder of the
 * workspace and a block device as major and minor. Where success would hurt, the arguments are wrong on
 * purpose: the kernel checks the right first, so EPERM is the refusal, and DONE stands for "not refused".
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

/* A call with senseless arguments: any other answer than a refusal means that the right was there. */
static void report_right(const char *name, long result) {
    bool refused = result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
    report(name, refused ? -1 : 0);
}

static void nodes_in(const char *folder, dev_t disk) {
    static const struct {
        const char *name;
        mode_t kind;
        unsigned major, minor;
    } nodes[] = {{"mem", S_IFCHR, 1, 1}, {"kmsg", S_IFCHR, 1, 11}, {"disk", S_IFBLK, 0, 0}};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        char path[4096];
        char name[4200];
        snprintf(path, sizeof path, "%s/node-%s", folder, nodes[i].name);
        snprintf(name, sizeof name, "mknod %s", path);
        dev_t device = nodes[i].kind == S_IFBLK ? disk : makedev(nodes[i].major, nodes[i].minor);
        report(name, mknod(path, nodes[i].kind | 0600, device));
        unlink(path);
    }
}

/* Each with the value that it has: success changes nothing but a time stamp. */
static void device_metadata(void) {
    static const char *const devices[] = {"/dev/full",   "/dev/null",    "/dev/zero",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        char name[64];
        struct stat facts;
        if (stat(devices[i], &facts) != 0)
            continue;
        snprintf(name, sizeof name, "chmod %s", devices[i]);
        report(name, chmod(devices[i], facts.st_mode & 07777));
        snprintf(name, sizeof name, "utimes %s", devices[i]);
        const struct timespec times[] = {facts.st_atim, facts.st_mtim};
        report(name, utimensat(AT_FDCWD, devices[i], times, 0));
    }
}

static void rights(void) {
    struct timespec now;
    struct timeval timeval;
    clock_gettime(CLOCK_REALTIME, &now);
    gettimeofday(&timeval, NULL);
    report("clock_settime", clock_settime(CLOCK_REALTIME, &now));
    report("settimeofday", settimeofday(&timeval, NULL));
    report("sethostname", sethostname("escaped", 7));
    report("setdomainname", setdomainname("escaped", 7));
    report_right("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
    report_right("init_module", syscall(SYS_init_module, NULL, 0, NULL));
    report_right("delete_module", syscall(SYS_delete_module, NULL, 0));
    report_right("kexec_load", syscall(SYS_kexec_load, 0, 99999, NULL, 0));
    report_right("swapon", syscall(SYS_swapon, NULL, 0));
    report_right("acct", syscall(SYS_acct, "/nowhere"));
    report("vhangup", syscall(SYS_vhangup));
    report("lower the niceness", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1));
    report("open /dev/mem", open("/dev/mem", O_RDONLY));
    report("open /dev/kmsg", open("/dev/kmsg", O_RDONLY));
    report("open /proc/kcore", open("/proc/kcore", O_RDONLY));
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_max++;
    report("raise a hard limit", setrlimit(RLIMIT_NOFILE, &limit));
    if (getuid() != 0)
        report("setuid 0", setuid(0));
    report("setuid of another", setuid(getuid() + 1));
    report("setgroups", syscall(SYS_setgroups, 0, NULL));
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    nodes_in(argv[1], makedev(atoi(argv[2]), atoi(argv[3])));
    nodes_in("/dev/shm", makedev(atoi(argv[2]), atoi(argv[3])));
    device_metadata();
    rights();
    return 0;
}
