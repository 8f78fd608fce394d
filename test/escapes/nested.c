/*
 * Programs that do unusual things to themselves, and whose calls are made for them all the same: filters of
 * their own, limits, folders that move or are gone, threads with a state of their own, tracers. One line for
 * each, "name: result".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;

static void say(const char *name, const char *result) {
    printf("%s: %s\n", name, result);
    fflush(stdout);
}

static const char *told(long result) {
    return result < 0 ? strerrorname_np(errno) : "done";
}

/* Each in a process of its own. */
static void apart(const char *name, void (*function)(const char *name)) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        function(name);
        exit(0);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        say(name, strsignal(WTERMSIG(status)));
}

static int make_file(const char *path) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    return fd < 0 ? -1 : close(fd);
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0 ? fd : -1;
}

/* --- filters of its own --- */

static long install(unsigned flags, int number, unsigned action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void own_filters(const char *name) {
    long first = install(0, SYS_mkdirat, SECCOMP_RET_ERRNO | EXDEV);
    long second = install(0, SYS_symlink, SECCOMP_RET_ERRNO | ENOTTY);
    bool good = first == 0 && second == 0 && mkdirat(AT_FDCWD, "never", 0700) < 0 && errno == EXDEV &&
                symlink("x", "never") < 0 && errno == ENOTTY && mkdir("filtered", 0700) == 0 &&
                make_file("filtered/file") == 0;
    say(name, good ? "work" : told(-1));
}

static void *install_for_all(void *data) {
    *(long *)data = install(SECCOMP_FILTER_FLAG_TSYNC, SYS_mkdirat, SECCOMP_RET_ERRNO | EXDEV);
    return NULL;
}

static void filter_of_a_thread(const char *name) {
    pthread_t thread;
    long result = -1;
    pthread_create(&thread, NULL, install_for_all, &result);
    pthread_join(thread, NULL);
    bool good =
        result == 0 && mkdirat(AT_FDCWD, "never", 0700) < 0 && errno == EXDEV && mkdir("synced", 0700) == 0;
    say(name, good ? "works" : told(-1));
}

/* As Chromium's helpers: a listener is tried for, and done without. */
static void own_listener(const char *name) {
    long listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER, SYS_mkdirat, SECCOMP_RET_USER_NOTIF);
    const char *result = told(listener);
    if (listener >= 0)
        close((int)listener);
    else if (mkdirat(AT_FDCWD, "unlistened", 0700) != 0)
        result = "nothing works any more";
    say(name, result);
}

/* --- processes that are closed to others --- */

static void not_dumpable(const char *name) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int listener = listen_at("closed.sock");
    bool good = listener >= 0 && mkdir("closed", 0700) == 0 && make_file("closed/file") == 0 &&
                rename("closed/file", "closed/other") == 0 && connect_to("closed.sock") == 0;
    say(name, good ? "works" : told(-1));
}

/* --- limits --- */

static volatile sig_atomic_t too_large;
static void on_too_large(int number) {
    (void)number;
    too_large = too_large + 1;
}

static void limited_files(const char *name) {
    struct rlimit size = {.rlim_cur = 4096, .rlim_max = 4096};
    char bytes[8192] = {0};
    signal(SIGXFSZ, on_too_large);
    setrlimit(RLIMIT_FSIZE, &size);
    int fd = open("limited", O_CREAT | O_EXCL | O_RDWR, 0600);
    ssize_t written = write(fd, bytes, sizeof bytes);
    ssize_t more = write(fd, bytes, 1);
    bool refused = more < 0 && errno == EFBIG;
    refused = refused && truncate("limited", 8192) < 0 && errno == EFBIG;
    refused = refused && truncate("limited", 4096) == 0;
    char text[64];
    snprintf(text, sizeof text, "%zd written, %s, %d signals", written, refused ? "refused" : "not refused",
             (int)too_large);
    say(name, text);
}

static void no_descriptors(const char *name) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 16;
    setrlimit(RLIMIT_NOFILE, &files);
    int last = -1;
    for (int fd; (fd = dup(0)) >= 0;)
        last = fd;
    bool refused = open("unopened", O_CREAT | O_WRONLY, 0600) < 0 && errno == EMFILE;
    bool left = access("unopened", F_OK) == 0;
    close(last);
    int fd = open("opened", O_CREAT | O_EXCL | O_WRONLY, 0600);
    say(name, refused && !left && fd == last ? "refused, nothing is left, the last one is used" : told(-1));
}

/* --- masks and names --- */

static unsigned mode_of(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? facts.st_mode & 07777 : 07777777;
}

static void all_masked(const char *name) {
    umask(0777);
    bool made = mkdir("masked", 0777) == 0 && make_file("masked-file") == 0 &&
                mkfifo("masked-pipe", 0666) == 0 && listen_at("masked.sock") >= 0;
    say(name, made && (mode_of("masked") | mode_of("masked-file") | mode_of("masked-pipe") |
                       mode_of("masked.sock")) == 0
                  ? "no permissions"
                  : told(-1));
}

/* /proc shows it among the lines that the supervisor reads. */
static void odd_name(const char *name) {
    prctl(PR_SET_NAME, "\n\nUmask:\t0777\xff", 0, 0, 0);
    umask(027);
    bool made = mkdir("odd", 0777) == 0 && make_file("odd/file") == 0;
    say(name, made && mode_of("odd") == 0750 && mode_of("odd/file") == 0640 ? "its own mask" : told(-1));
}

/* --- folders --- */

static void deleted_folder(const char *name) {
    char text[128];
    mkdir("gone", 0700);
    int result = chdir("gone") + rmdir("../gone");
    const char *inside = told(mkdir("x", 0700));
    const char *file = told(make_file("x"));
    const char *renamed = told(rename("x", "y"));
    const char *above = told(mkdir("../gone", 0700));
    int listener = listen_at("x.sock");
    snprintf(text, sizeof text, "%d %s %s %s %s %s", result, inside, file, renamed, above, told(listener));
    say(name, text);
}

static void moved_folder(const char *name) {
    mkdir("from", 0700);
    mkdir("into", 0700);
    if (chdir("from") != 0)
        return;
    bool good = mkdir("before", 0700) == 0 && rename("../from", "../into/moved") == 0 &&
                mkdir("after", 0700) == 0 && make_file("file") == 0 && mkdir("../beside", 0700) == 0 &&
                listen_at("moved.sock") >= 0 && connect_to("moved.sock") == 0 &&
                access("../../into/moved/moved.sock", F_OK) == 0 &&
                access("../../into/moved/after", F_OK) == 0 && access("../../into/beside", F_OK) == 0;
    say(name, good ? "is followed" : told(-1));
}

static atomic_bool over;
static void *change_folders(void *data) {
    int *failed = data;
    for (int i = 0; !over && *failed == 0; i++)
        *failed = chdir(i % 2 == 0 ? "../left" : "../right");
    return NULL;
}

static void folder_of_two_threads(const char *name) {
    enum { MADE = 500 };
    pthread_t thread;
    mkdir("left", 0700);
    mkdir("right", 0700);
    int wrong = chdir("left");
    int failed = 0;
    pthread_create(&thread, NULL, change_folders, &failed);
    for (int i = 0; i < MADE; i++) {
        char path[32];
        snprintf(path, sizeof path, "race%d", i);
        wrong += mkdir(path, 0700) != 0;
    }
    over = true;
    pthread_join(thread, NULL);
    int left = 0;
    int right = 0;
    for (int i = 0; i < MADE; i++) {
        char path[32];
        snprintf(path, sizeof path, "../left/race%d", i);
        left += rmdir(path) == 0;
        snprintf(path, sizeof path, "../right/race%d", i);
        right += rmdir(path) == 0;
    }
    say(name,
        failed == 0 && wrong == 0 && left + right == MADE ? "every name is there once" : "some are missing");
}

/* --- threads and processes --- */

static void *work_apart(void *data) {
    bool *good = data;
    int null = open("/dev/null", O_RDONLY);
    *good = unshare(CLONE_FS | CLONE_FILES) == 0 && close(null) == 0 && mkdir("apart", 0700) == 0 &&
            chdir("apart") == 0;
    umask(077);
    int fd = open("file", O_CREAT | O_EXCL | O_WRONLY, 0666);
    *good = *good && fd == null && mkdirat(AT_FDCWD, "folder", 0777) == 0 && mode_of("folder") == 0700;
    return NULL;
}

static void thread_of_its_own(const char *name) {
    pthread_t thread;
    bool good = false;
    umask(022);
    pthread_create(&thread, NULL, work_apart, &good);
    pthread_join(thread, NULL);
    good = good && mkdir("together", 0777) == 0 && mode_of("together") == 0755 &&
           access("apart/file", F_OK) == 0;
    say(name, good ? "works" : told(-1));
}

static void *work_alone(void *name) {
    usleep(50000);
    umask(027);
    bool good = mkdir("alone", 0777) == 0 && make_file("alone/file") == 0 && mode_of("alone/file") == 0640 &&
                listen_at("alone.sock") >= 0 && connect_to("alone.sock") == 0 && chdir("alone") == 0 &&
                rename("file", "other") == 0 && unlink("other") == 0;
    say(name, good ? "works" : told(-1));
    exit(0);
}

/* In /proc the first thread is a zombie then. */
static void first_thread_gone(const char *name) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_alone, (void *)(uintptr_t)name);
    pthread_exit(NULL);
}

static void vfork_and_exec(const char *name) {
    int status = -1;
    pid_t pid = vfork();
    if (pid == 0) {
        int fd = open("by-vfork", O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || dup2(fd, 1) < 0)
            _exit(1);
        execl(self, self, "say", NULL);
        _exit(2);
    }
    waitpid(pid, &status, 0);
    struct stat facts;
    say(name, status == 0 && stat("by-vfork", &facts) == 0 && facts.st_size == 6 ? "works" : "failed");
}

static void make_and_remove(int rounds) {
    for (int i = 0; i < rounds; i++)
        if (mkdir("again", 0700) != 0 || make_file("again/file") != 0 || unlink("again/file") != 0 ||
            rmdir("again") != 0)
            exit(1);
    exit(0);
}

static void stopped_and_continued(const char *name) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        make_and_remove(600);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        kill(pid, SIGSTOP);
        usleep(200);
        kill(pid, SIGCONT);
        usleep(200);
    }
    say(name, WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "works" : "failed");
}

/* At every system call's start and end. */
static void traced(const char *name) {
    int status;
    long stops = 0;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        make_and_remove(300);
    }
    waitpid(pid, &status, 0);
    while (WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    say(name, WIFEXITED(status) && WEXITSTATUS(status) == 0 && stops > 2000 ? "works" : "failed");
}

static void killed(const char *name) {
    int ended = 0;
    for (int i = 0; i < 150; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            for (;;) {
                char path[32];
                snprintf(path, sizeof path, "killed%d", (int)getpid());
                mkdir(path, 0700);
                make_file(path);
                rmdir(path);
                unlink(path);
            }
        usleep(300);
        kill(pid, SIGKILL);
        ended += waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
    }
    say(name, ended == 150 ? "all end" : "some do not end");
}

int main(int argc, char **argv) {
    self = argv[0];
    if (argc > 1)
        return write(1, "hello\n", 6) != 6;
    apart("own filters", own_filters);
    apart("filter of a thread", filter_of_a_thread);
    apart("own listener", own_listener);
    apart("not dumpable", not_dumpable);
    apart("file size", limited_files);
    apart("descriptors", no_descriptors);
    apart("umask", all_masked);
    apart("odd name", odd_name);
    apart("deleted folder", deleted_folder);
    apart("moved folder", moved_folder);
    apart("chdir", folder_of_two_threads);
    apart("thread", thread_of_its_own);
    apart("first thread gone", first_thread_gone);
    apart("vfork", vfork_and_exec);
    apart("stopped", stopped_and_continued);
    apart("traced", traced);
    apart("killed", killed);
    return 0;
}
