#include "base/cleanup.h"
#include "exec/target.h"
#include "notified.h"
#include "tap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

/* Two pages and one that cannot be read behind them; at the same address in the child. */
static char *memory;
static size_t page;

static uint64_t at(size_t offset) {
    return (uint64_t)(uintptr_t)memory + offset;
}

static void map_memory(void) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + 2 * page, page, PROT_NONE) != 0)
        abort();
}

enum { CHILD_FILE = 60, CHILD_PATH = 61 };

/* In the child alone, so that it is not our own memory that is read. */
static void prepare(void *unused) {
    (void)unused;
    memset(memory, 'x', 2 * page);
    memcpy(memory + page - 3, "across", sizeof "across");
    memcpy(memory + 2 * page - sizeof "end", "end", sizeof "end");
    prctl(PR_SET_NAME, "one \"name\"");
    if (chdir("/usr") != 0 || dup2(open("/proc/self/status", O_RDONLY), CHILD_FILE) < 0 ||
        dup2(open("/etc", O_PATH), CHILD_PATH) < 0)
        _exit(124);
}

static const int numbers[] = {__NR_getpgid, __NR_umask};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int wait_once(void *unused) {
    (void)unused;
    long got = syscall(__NR_getpgid, 0);
    return got == 7 && strcmp(memory, "written") == 0 ? 0 : 1;
}

/* --- memory --- */

static void reads_memory(const struct call *call) {
    char text[PATH_MAX];
    is_int(target_read(call, at(page - 3), text, 7), 0, "memory is read across pages");
    is_str(text, "across", "and is the child's");
    is_int(target_read(call, at(2 * page - 4), text, 5), EFAULT, "memory that ends too early is EFAULT");
    is_int(target_read(call, at(2 * page), text, 1), EFAULT, "memory that cannot be read is EFAULT");
    is_int(target_read(call, 0, text, 1), EFAULT, "NULL is EFAULT");
    is_int(target_read(call, UINT64_MAX - 2, text, 8), EFAULT, "an address at the end of all is EFAULT");
    is_int(target_read(call, 0, text, 0), 0, "nothing can be read from anywhere");
}

static void reads_strings(const struct call *call) {
    char text[PATH_MAX];
    memset(text, 'y', sizeof text);
    is_int(target_read_string(call, at(page - 3), text, sizeof text), 0, "a string is read across pages");
    is_str(text, "across", "and ends where it ends");
    is_int(target_read_string(call, at(2 * page - 4), text, sizeof text), 0,
           "a string right before what cannot be read is read");
    is_str(text, "end", "to its end");
    is_int(target_read_string(call, at(2 * page - 1), text, sizeof text), 0, "an empty string there, too");
    is_str(text, "", "is empty");
    is_int(target_read_string(call, at(2 * page), text, sizeof text), EFAULT, "a string nowhere is EFAULT");
    is_int(target_read_string(call, 0, text, sizeof text), EFAULT, "NULL is no string");
    is_int(target_read_string(call, at(page - 3), text, 7), 0, "a string just fits");
    is_int(target_read_string(call, at(page - 3), text, 6), ENAMETOOLONG, "one byte less is too little");
    is_int(target_read_string(call, at(0), text, 100), ENAMETOOLONG, "a string without an end is too long");
}

static void writes_memory(const struct call *call) {
    is_int(target_write(call, at(0), "written", 8), 0, "memory is written");
    is_int(target_write(call, at(2 * page), "x", 1), EFAULT, "but not where it may not be");
    ok(strcmp(memory, "written") != 0, "and it is not our own");
}

/* --- descriptors, names --- */

static void reads_descriptors(struct call *call) {
    int fd = target_duplicate(call, CHILD_FILE);
    ok(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "a descriptor is duplicated, close-on-exec");
    lseek(fd, 7, SEEK_SET);
    int again = target_duplicate(call, CHILD_FILE);
    is_int(lseek(again, 0, SEEK_CUR), 7, "two duplicates are one open file");
    close(again);
    close(fd);
    fd = target_duplicate(call, CHILD_PATH);
    ok(fd >= 0 && (fcntl(fd, F_GETFL) & O_PATH) != 0, "an O_PATH descriptor stays one");
    close(fd);
    is_int(target_duplicate(call, 12345), -EBADF, "a descriptor that is not open is EBADF");
    is_int(target_duplicate(call, -1), -EBADF, "-1, too");
}

static void is_folder(const struct call *call, int dirfd, const char *path) {
    struct stat one = {0}, other = {0};
    int fd = target_folder(call, dirfd);
    ok(fd >= 0 && fstat(fd, &one) == 0 && stat(path, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev && (fcntl(fd, F_GETFL) & O_PATH) != 0,
       "%s is reached by O_PATH", path);
    close(fd);
}

static void reads_folders(const struct call *call) {
    is_folder(call, AT_FDCWD, "/usr");
    is_folder(call, CHILD_PATH, "/etc");
    is_int(target_folder(call, 12345), -EBADF, "a folder that is not open is EBADF");
    is_int(target_folder(call, -7), -EBADF, "any negative number is EBADF");
}

static void reads_names(const struct call *call, pid_t pid) {
    struct target_ids ids;
    char name[16], small[4];
    is_int(target_ids(call, &ids), 0, "its numbers are known");
    ok(ids.process == pid && ids.inner_process == pid && ids.inner_thread == pid,
       "and are its own, in the one pid namespace");
    target_name(call, name, sizeof name);
    is_str(name, "one \"name\"", "its name is known");
    target_name(call, small, sizeof small);
    is_str(small, "one", "and cut where there is no room");
}

static void answers_nothing_of_the_dead(struct call *call, pid_t pid) {
    char text[8];
    struct target_ids ids;
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
    close_fd(&call->pidfd);
    is_int(target_read(call, at(0), text, 1), ESRCH, "the memory of a call that is gone is not read");
    is_int(target_read_string(call, at(0), text, 1), ESRCH, "nor its strings");
    is_int(target_write(call, at(0), text, 1), ESRCH, "nor written");
    is_int(target_duplicate(call, 0), -ESRCH, "nor its descriptors");
    is_int(target_folder(call, AT_FDCWD), -ESRCH, "nor its folder");
    is_int(target_ids(call, &ids), ESRCH, "nor its numbers");
    target_name(call, text, sizeof text);
    is_str(text, "", "nor its name");
}

/* --- umask --- */

/* Calls that wait at the same time: umask, and those of another process and of two threads, one of which left
 * with its mask. */
enum { CHANGING, OTHER, SHARING, ALONE, WAITING };

static void wait_as(int who) {
    syscall(__NR_getpgid, who);
}

static void *wait_in_thread(void *who) {
    if (*(int *)who == ALONE && unshare(CLONE_FS) != 0)
        abort();
    wait_as(*(int *)who);
    return NULL;
}

static int change_umask(void *unused) {
    pthread_t threads[2];
    int who[2] = {SHARING, ALONE};
    (void)unused;
    umask(022);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_as(OTHER);
        _exit(0);
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, wait_in_thread, &who[i]) != 0)
            return 1;
    umask(027);
    wait_as(CHANGING);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* All of them, in whatever order they come. */
static bool all_wait(struct notified *child, struct call out[WAITING]) {
    for (int i = 0; i < WAITING; i++) {
        if (!notified_next(child))
            return false;
        const struct seccomp_data *data = &child->notification.data;
        size_t who = data->nr == __NR_umask ? CHANGING : (size_t)data->args[0];
        if (who >= WAITING)
            return false;
        out[who] = child->call;
    }
    return true;
}

/* Of CHANGING, OTHER, SHARING and ALONE, from first on. */
static void have_masks(const struct call calls[WAITING], int first, const mode_t masks[WAITING],
                       const char *when) {
    static const char *const names[] = {"the thread itself", "another process", "a thread that shares it",
                                        "a thread that left"};
    for (int i = first; i < WAITING; i++) {
        mode_t got = target_umask(&calls[i]);
        ok(got == masks[i], "%s: %s has %o, it is %o", when, names[i], masks[i], got);
    }
}

static void umasks(void) {
    static const mode_t before[] = {022, 022, 022, 022}, after[] = {027, 022, 027, 022};
    struct notified child;
    struct call calls[WAITING];
    bool started =
        notified_start(&child, numbers, NUMBERS, NULL, change_umask, NULL) && notified_next(&child);
    if (started)
        answer_send(&child.call, answer_continue());
    if (!ok(started && all_wait(&child, calls), "two threads and a process wait while one changes its umask"))
        return;
    have_masks(calls, 0, before, "a umask is read");
    have_masks(calls, 0, before, "and remembered");
    target_umask_changes(&calls[CHANGING], 010027);
    have_masks(calls, CHANGING + 1, before, "a change is seen before it is made");
    answer_send(&calls[CHANGING], answer_continue());
    ok(notified_next(&child), "the change is made");
    calls[CHANGING] = child.call;
    have_masks(calls, CHANGING + 1, after, "then it holds for all that share the umask");
    have_masks(calls, 0, after, "then it holds for the thread itself");
    have_masks(calls, 0, after, "and goes on to");
    usleep(1100000);
    have_masks(calls, 0, after, "and is what the kernel says");
    notified_end(&child, true);
}

int main(void) {
    struct notified child;
    map_memory();
    if (ok(notified_start(&child, numbers, NUMBERS, prepare, wait_once, NULL) && notified_next(&child),
           "a process waits for its answer")) {
        reads_memory(&child.call);
        reads_strings(&child.call);
        writes_memory(&child.call);
        reads_descriptors(&child.call);
        reads_folders(&child.call);
        reads_names(&child.call, child.pid);
        notified_answer(&child, answer_value(7));
        is_int(notified_end(&child, false), 0, "the child saw what was written, and the answer");
    }
    if (ok(notified_start(&child, numbers, NUMBERS, prepare, wait_once, NULL) && notified_next(&child),
           "another one waits")) {
        answers_nothing_of_the_dead(&child.call, child.pid);
        notified_end(&child, false);
    }
    umasks();
    return done_testing();
}
