#include "exec/remount.h"
#include "plan/mount_kind.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A run without a sandbox: a child in a user and a mount namespace of its own, without capabilities. It
 * answers, for each path that it is told, with what it can do there.
 */
struct run {
    pid_t stage;
    int stage_pidfd;
    int to;
    int from;
    char *why;
};

static char base[] = "/var/tmp/os-sandbox-remount-XXXXXX";

static const char *at(const char *name) {
    static char paths[16][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, PATH_MAX, "%s%s%s", base, name[0] == '\0' ? "" : "/", name);
    return path;
}

static void put(const char *name, const char *text) {
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (write(fd, text, strlen(text)) < 0)
        printf("# %s cannot be written\n", name);
    close(fd);
}

static void write_map(const char *path, unsigned id) {
    char line[32];
    int length = snprintf(line, sizeof line, "%u %u 1\n", id, id);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (write(fd, line, (size_t)length) < 0)
        _exit(1);
    close(fd);
}

/* r: it can be read, w: it can be written to, l: it can be listed, -: none of them. */
static char attempt(const char *path) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return 'w';
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return 'l';
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 'r' : '-';
}

/* As bwrap's --disable-userns does it: the command is in a user namespace below the one that owns its mounts.
 */
static void enter(void) {
    unsigned uid = geteuid();
    unsigned gid = getegid();
    for (int i = 0; i < 2; i++) {
        if (unshare(CLONE_NEWUSER | (i == 0 ? CLONE_NEWNS : 0)) != 0)
            _exit(1);
        int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, "deny", 4) < 0 && i == 0)
            _exit(1);
        close(fd);
        write_map("/proc/self/uid_map", uid);
        write_map("/proc/self/gid_map", gid);
    }
    for (int capability = 0; capability < 64; capability++)
        prctl(PR_CAPBSET_DROP, capability);
    struct {
        unsigned version;
        int pid;
    } header = {0x20080522, 0};
    unsigned none[6] = {0};
    /* Dumpable, as it was not executed inside: its memory belongs to the outer user namespace (ptrace(2)). */
    if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
        _exit(1);
}

static _Noreturn void run_main(int from, int to) {
    char path[PATH_MAX];
    enter();
    char answer = '.';
    do
        if (write(to, &answer, 1) != 1 || read(from, path, sizeof path) <= 0)
            _exit(0);
    while ((answer = attempt(path)) != '\0');
    _exit(0);
}

static struct run start(void) {
    int to[2];
    int from[2];
    char ready;
    struct run run = {.why = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || (run.stage = fork()) < 0) {
        printf("Bail out! no child\n");
        exit(1);
    }
    if (run.stage == 0) {
        close(to[1]);
        run_main(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    run.to = to[1];
    run.from = from[0];
    run.stage_pidfd = (int)syscall(SYS_pidfd_open, run.stage, 0);
    if (run.stage_pidfd < 0 || read(run.from, &ready, 1) != 1) {
        printf("Bail out! no user namespace\n");
        exit(1);
    }
    return run;
}

static void end(struct run *run) {
    close(run->to);
    close(run->from);
    waitpid(run->stage, NULL, 0);
    close(run->stage_pidfd);
    munmap(run->why, 4096);
}

static char inside(const struct run *run, const char *name) {
    const char *path = name[0] == '/' ? name : at(name);
    char answer = '?';
    if (write(run->to, path, strlen(path) + 1) < 0 || read(run->from, &answer, 1) != 1)
        return '?';
    return answer;
}

/* The exit status; a signal's as a shell would show it. */
static int restore(const struct run *run, const struct kept_mount *mounts, size_t count) {
    const struct remount remount = {.stage = run->stage,
                                    .stage_pidfd = run->stage_pidfd,
                                    .mounts = mounts,
                                    .count = count,
                                    .why = run->why,
                                    .why_size = 4096};
    int status = 0;
    pid_t child = remount_fork(&remount);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (run->why[0] != '\0')
        diag("why", run->why);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int restore_one(const struct run *run, enum mount_kind kind, const char *name) {
    struct kept_mount mount = {.kind = kind, .look = true, .path = name[0] == '/' ? name : at(name)};
    return restore(run, &mount, 1);
}

static void masks(void) {
    struct run run = start();
    put("file", "secret");
    mkdir(at("folder"), 0700);
    put("folder/file", "secret");
    ok(inside(&run, "file") == 'w' && inside(&run, "folder") == 'l', "at first all is open");
    ok(restore_one(&run, MOUNT_MASK_FILE, "file") == 0 && inside(&run, "file") == '-', "a file is masked");
    ok(restore_one(&run, MOUNT_MASK_DIR, "folder") == 0 && inside(&run, "folder") == '-' &&
           inside(&run, "folder/file") == '-',
       "a folder is masked");
    ok(attempt(at("file")) == 'w' && attempt(at("folder/file")) == 'w', "outside nothing is");
    put("next", "next secret");
    ok(rename(at("next"), at("file")) == 0 && inside(&run, "file") == 'w', "what replaces the file is open");
    ok(restore_one(&run, MOUNT_MASK_FILE, "file") == 0 && inside(&run, "file") == '-',
       "until it is masked again");
    unlink(at("file"));
    mkdir(at("file"), 0700);
    ok(restore_one(&run, MOUNT_MASK_FILE, "file") == 0 && inside(&run, "file") == '-',
       "a folder in a file's place is masked as one");
    rmdir(at("file"));
    ok(restore_one(&run, MOUNT_MASK_FILE, "file") == 0, "where nothing is nothing is masked");
    unlink(at("folder/file"));
    rmdir(at("folder"));
    put("folder", "secret");
    ok(restore_one(&run, MOUNT_MASK_HOLES, "folder") == 0 && inside(&run, "folder") == '-',
       "what had holes is masked whole, a file as one");
    unlink(at("folder"));
    end(&run);
}

static void read_only(void) {
    struct run run = start();
    put("file", "text");
    mkdir(at("folder"), 0700);
    put("folder/file", "text");
    ok(restore_one(&run, MOUNT_READ_ONLY, "file") == 0 && inside(&run, "file") == 'r', "a file is read-only");
    ok(restore_one(&run, MOUNT_READ_ONLY, "folder") == 0 && inside(&run, "folder/file") == 'r',
       "a folder is, with what is below");
    ok(restore_one(&run, MOUNT_MASK_FILE, "folder/file") == 0 && inside(&run, "folder/file") == '-' &&
           restore_one(&run, MOUNT_PIN, "folder") == 0 && inside(&run, "folder/file") == '-',
       "a pin leaves masks below it");
    unlink(at("folder/file"));
    rmdir(at("folder"));
    mkdir(at("folder"), 0700);
    put("folder/file", "text");
    const struct kept_mount plan[] = {{.kind = MOUNT_PIN, .look = true, .path = at("folder")},
                                      {.kind = MOUNT_MASK_FILE, .look = true, .path = at("folder/file")},
                                      {.kind = MOUNT_MASK_FILE, .look = false, .path = at("file")}};
    ok(restore(&run, plan, 3) == 0 && inside(&run, "folder/file") == '-', "a pin and a mask below it");
    ok(inside(&run, "file") == 'r', "what is not to be looked at stays");
    put("folder/other", "text");
    ok(inside(&run, "folder/other") == 'w', "a pinned folder can be written to");
    end(&run);
}

static void links(void) {
    struct run run = start();
    put("target", "secret");
    mkdir(at("below"), 0700);
    put("below/file", "secret");
    const struct {
        const char *target;
        const char *name;
    } made[] = {{"target", "link"},      {"below", "folder-link"}, {"loop", "loop"}, {"nothing", "dangling"},
                {"/dev/null", "device"}, {"/proc", "proc"},        {"/", "root"},    {"/dev", "dev"}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        symlink(made[i].target, at(made[i].name));
        ok(restore_one(&run, MOUNT_MASK_FILE, made[i].name) == 0, "a symlink to %s does no harm",
           made[i].target);
    }
    ok(inside(&run, "target") == '-' && inside(&run, "link") == '-', "what a symlink leads to is masked");
    ok(inside(&run, "below/file") == '-', "a folder as well");
    ok(inside(&run, "/dev/null") == 'w' && inside(&run, "/proc") == 'l' && inside(&run, "/dev") == 'l' &&
           inside(&run, "") == 'l',
       "not what the run has of its own, nor all there is");
    put("below/next", "secret");
    ok(restore_one(&run, MOUNT_MASK_FILE, "folder-link/next") == 0 && inside(&run, "below/next") == '-',
       "below a symlink, too");
    end(&run);
}

static void failures(void) {
    struct run run = start();
    put("file", "secret");
    struct run here = run;
    here.stage = getpid();
    here.stage_pidfd = (int)syscall(SYS_pidfd_open, here.stage, 0);
    here.why[0] = '\0';
    ok(restore_one(&here, MOUNT_MASK_FILE, "file") > 0 && here.why[0] != '\0',
       "where it has no rights it fails, and says so");
    ok(attempt(at("file")) == 'w', "and the host keeps its file");
    run.why[0] = '\0';
    kill(run.stage, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)run.stage, &info, WEXITED | WNOWAIT);
    ok(restore_one(&run, MOUNT_MASK_FILE, "file") == 0, "a run that is over is no failure");
    close(here.stage_pidfd);
    end(&run);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(base) == NULL)
        return 1;
    masks();
    read_only();
    links();
    failures();
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command) == 0 ? done_testing() : 1;
}
