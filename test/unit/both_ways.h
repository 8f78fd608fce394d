/*
 * The same calls twice: by the kernel alone, and through the brokers. Results and files must be the same.
 * Both in a user namespace with one id, as a run's, with read-only mounts.
 */
#ifndef OS_SANDBOX_TEST_BOTH_WAYS_H
#define OS_SANDBOX_TEST_BOTH_WAYS_H

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "exec/broker.h"
#include "exec/report.h"
#include "exec/rules.h"
#include "walk_tree.h"

/* More descriptors of the child. */
enum { CHILD_O_PATH = 63, CHILD_FROZEN = 64, CHILD_LINK = 65 };

/* One call, as the kernel gets it. */
struct attempt {
    const char *name;
    long number;
    uint64_t arguments[5];
};

#define ATTEMPTS_MAX 400
#define FILES_MAX 200
#define LINE_BYTES 192

/* What came of it; beside the result, or a negative errno: what was opened, and all files afterwards. */
struct record {
    char name[96];
    int result;
    char opened[LINE_BYTES];
    char files[20000];
};

/* Of both ways, shared with the children. */
struct records {
    size_t count;
    struct record list[ATTEMPTS_MAX];
};
static struct records *plain, *brokered;

#define P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define CALL(call, ...)                                                                                      \
    {                                                                                                        \
#call " " #__VA_ARGS__, __NR_##call, {                                                               \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define RUN(...)                                                                                             \
    do {                                                                                                     \
        const struct attempt attempts[] = {__VA_ARGS__};                                                     \
        for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)                                      \
            record(records, &attempts[i]);                                                                   \
    } while (0)

/* Directories for openat and its kind. */
#define HERE ((uint64_t)AT_FDCWD)

static const char long_path[5000] = {[0 ... 4998] = 'x'};

/* --- what is recorded --- */

static char lines[FILES_MAX][LINE_BYTES];
static size_t line_count;

/* Times of now differ, those that were set do not. */
static inline long long set_time(const struct timespec *time) {
    return time->tv_sec > 1000000 ? -1 : (long long)time->tv_sec;
}

static inline int add_line(const char *path, const struct stat *facts, int type, struct FTW *where) {
    char text[40] = "";
    (void)type;
    (void)where;
    if (line_count == FILES_MAX)
        abort();
    bool link = S_ISLNK(facts->st_mode), file = S_ISREG(facts->st_mode);
    if (link && readlink(path, text, sizeof text - 1) < 0)
        abort();
    if (text[0] == '/')
        text[0] = '\0'; /* the folder has another name each time */
    snprintf(lines[line_count++], LINE_BYTES, "%.40s %o x%u %lld %lld %lld %s\n", path, facts->st_mode,
             file ? (unsigned)facts->st_nlink : 0, file ? (long long)facts->st_size : 0,
             link ? 0 : set_time(&facts->st_atim), set_time(&facts->st_mtim), text);
    return 0;
}

static inline int by_text(const void *one, const void *other) {
    return strcmp(one, other);
}

static inline void record_files(char *out) {
    line_count = 0;
    if (nftw(".", add_line, 16, FTW_PHYS) != 0)
        abort();
    qsort(lines, line_count, LINE_BYTES, by_text);
    const char *end = out + sizeof((struct record *)NULL)->files - LINE_BYTES;
    for (size_t i = 0; i < line_count && out < end; i++)
        out = stpcpy(out, lines[i]);
    if (out >= end)
        abort();
}

static inline bool opens(long number) {
#ifdef __NR_open
    if (number == __NR_open || number == __NR_creat)
        return true;
#endif
    return number == __NR_openat;
}

static inline void record(struct records *records, const struct attempt *attempt) {
    struct record *out = &records->list[records->count];
    const uint64_t *a = attempt->arguments;
    if (records->count++ == ATTEMPTS_MAX)
        abort();
    long result = syscall(attempt->number, a[0], a[1], a[2], a[3], a[4]);
    out->result = result < 0 ? -errno : (int)result;
    snprintf(out->name, sizeof out->name, "%s", attempt->name);
    if (opens(attempt->number) && result >= 0) {
        char text[4] = "new";
        int fd = (int)result;
        long moved = read(fd, text, 3), written = write(fd, "more", 4);
        snprintf(out->opened, sizeof out->opened, "%x %x read %ld wrote %ld", fcntl(fd, F_GETFL),
                 fcntl(fd, F_GETFD), moved, written);
        close(fd);
    }
    record_files(out->files);
}

/* The first line that is in one text only. */
static inline void show_difference(const char *one, const char *other) {
    while (*one != '\0' && strcspn(one, "\n") == strcspn(other, "\n") &&
           strncmp(one, other, strcspn(one, "\n")) == 0) {
        one += strcspn(one, "\n") + 1;
        other += strcspn(other, "\n") + 1;
    }
    printf("#   wanted: %.*s\n#   got: %.*s\n", (int)strcspn(one, "\n"), one, (int)strcspn(other, "\n"),
           other);
}

static inline void compare(void) {
    if (!is_int((long long)brokered->count, (long long)plain->count, "as many calls were made"))
        return;
    for (size_t i = 0; i < plain->count; i++) {
        const struct record *one = &plain->list[i], *other = &brokered->list[i];
        if (!ok(one->result == other->result, "%s: the same result", one->name))
            printf("#   wanted: %d\n#   got: %d\n", one->result, other->result);
        if (strcmp(one->opened, other->opened) != 0) {
            ok(false, "%s: the same was opened", one->name);
            show_difference(one->opened, other->opened);
        }
        if (strcmp(one->files, other->files) != 0) {
            ok(false, "%s: the same files afterwards", one->name);
            show_difference(one->files, other->files);
        }
    }
}

/* --- both ways --- */

static inline void enter_run(void *unused) {
    const struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    unshare_as_run(CLONE_NEWNS);
    freeze("frozen");
    freeze("frozen-file");
    freeze("flipping/frozen");
    cover("covered");
    cover("covered-file");
    /* The mounts are there now. */
    char above[128];
    snprintf(above, sizeof above, "%s", top);
    if (chdir("/") != 0 || chdir(above) != 0)
        _exit(119);
    open_descriptors(unused);
    if (dup2(open("file", O_PATH), CHILD_O_PATH) < 0 ||
        dup2(open("frozen/file", O_RDONLY), CHILD_FROZEN) < 0 ||
        dup2(open("to-file", O_PATH | O_NOFOLLOW), CHILD_LINK) < 0)
        _exit(118);
    signal(SIGXFSZ, SIG_IGN);
    umask(022);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || syscall(SYS_capset, &header, none) != 0)
        _exit(117);
}

static inline bool plainly(int (*body)(void *)) {
    int status = -1;
    make_tree();
    pid_t pid = fork();
    if (pid == 0) {
        enter_run(NULL);
        _exit(body(plain));
    }
    waitpid(pid, &status, 0);
    remove_tree();
    return ok(status == 0, "the calls are made without a supervisor");
}

/* What a run through the brokers is like, and came to. */
struct brokering {
    bool (*broker)(struct call *, struct answer *);
    const int *numbers;
    size_t count;
    struct payload payload;
    bool ruled;            /* by the rules, which protect names */
    void (*prepare)(void); /* adds to the tree; NULL */
    int continued;         /* calls that went on */
    char text[65536];      /* reports */
};

/* Runs body so; the child's wait status. */
static inline int brokered_run(struct brokering *how, int (*body)(void *), void *argument) {
    struct notified child;
    struct answer answer;
    int events[2];
    make_tree();
    if (how->prepare != NULL)
        how->prepare();
    if (pipe2(events, O_NONBLOCK | O_CLOEXEC) != 0 ||
        !notified_start(&child, how->numbers, how->count, enter_run, body, argument))
        return -1;
    child.supervisor.payload = &how->payload;
    child.supervisor.report = report_new(events[1], &how->payload);
    if (how->ruled)
        child.supervisor.rules = rules_new(&how->payload, child.supervisor.root, NULL);
    for (how->continued = 0; notified_next(&child); how->continued += answer.kind == ANSWER_CONTINUE) {
        if (!how->broker(&child.call, &answer))
            ok(false, "call %d has an answer", child.notification.data.nr);
        notified_answer(&child, answer);
    }
    report_flush(child.supervisor.report);
    ssize_t length = read(events[0], how->text, sizeof how->text - 1);
    how->text[length < 0 ? 0 : length] = '\0';
    close(events[0]);
    close(events[1]);
    report_free(child.supervisor.report);
    if (how->ruled)
        rules_free(child.supervisor.rules);
    int status = notified_end(&child, false);
    umask(022);
    remove_tree();
    return status;
}

/* Both; false where the calls cannot be made at all. */
static inline bool both_ways(struct brokering *how, int (*body)(void *)) {
    plain = mmap(NULL, sizeof *plain, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    brokered = mmap(NULL, sizeof *brokered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    how->payload.supervision |= SUPERVISE_FILTER | SUPERVISE_PATHS;
    if (!ok(plain != MAP_FAILED && brokered != MAP_FAILED && become_plain_user(),
            "the test runs as a plain user") ||
        !plainly(body))
        return false;
    is_int(brokered_run(how, body, brokered), 0, "the calls are made through the broker");
    compare();
    return true;
}

/* --- what was reported --- */

static inline void is_reported(struct brokering *how, const char *operation, const char *path) {
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\"operation\":\"%s\",\"path\":\"%s/%s\"", operation, top, path);
    char *found = strstr(how->text, wanted);
    if (ok(found != NULL, "%s of %s is reported", operation, path))
        found[0] = '!';
}

static inline void nothing_else_is_reported(struct brokering *how) {
    const char *more = strstr(how->text, "\"operation\"");
    ok(more == NULL, "and nothing else is");
    if (more != NULL)
        diag("reported", more);
}

#endif
