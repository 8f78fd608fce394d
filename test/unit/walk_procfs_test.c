#include "walk_tree.h"

/* --- the procfs that the supervisor has, too --- */

static void own_procfs(struct call *call, pid_t pid) {
    char path[64], other[64];
    leads_to(call, AT_FDCWD, "/proc/self/fd/60", "file");
    leads_to(call, AT_FDCWD, "/proc/self/fd/61/sub/deep", "dir/sub/deep");
    leads_to(call, AT_FDCWD, "/proc/thread-self/fd/61/up/file", "file");
    leads_to(call, AT_FDCWD, "/dev/fd/60", "file");
    leads_to(call, AT_FDCWD, "/proc/self/cwd/dir", "dir");
    leads_to(call, AT_FDCWD, "/proc/self/cwd", ".");
    leads_to(call, AT_FDCWD, "/proc/self/root/tmp", "/tmp");
    leads_to(call, AT_FDCWD, "/proc/self/exe", "/proc/self/exe");
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    leads_to(call, AT_FDCWD, "/proc/self/status", path);
    snprintf(other, sizeof other, "/proc/%d/task/%d/status", (int)pid, (int)pid);
    leads_to(call, AT_FDCWD, "/proc/thread-self/status", other);
    snprintf(other, sizeof other, "/proc/%d/mounts", (int)pid);
    leads_to(call, AT_FDCWD, "/proc/mounts", other);
    snprintf(other, sizeof other, "/proc/%d/fd/%d", (int)pid, CHILD_PIPE);
    leads_to(call, AT_FDCWD, "/proc/self/fd/62", other);
    leads_to(call, AT_FDCWD, "/proc/self/ns/net", "/proc/self/ns/net");
    fails_with(call, AT_FDCWD, "/proc/self/fd/60/x", ENOTDIR);
    fails_with(call, AT_FDCWD, "/proc/self/fd/60/", ENOTDIR);
    fails_with(call, AT_FDCWD, "/proc/self/fd/62/", ENOTDIR);
    fails_with(call, AT_FDCWD, "/proc/self/fd/59", ENOENT);
    fails_with(call, AT_FDCWD, "/proc/self/nothing", ENOENT);
}

/* --- a pid namespace with a procfs of its own --- */

/* The kernel asks by whose program it is who may look into a process that is not dumpable: it must be
 * executed inside. */
static _Noreturn void sibling(bool dumpable) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!dumpable)
        execl("/proc/self/exe", "walk_procfs_test", "--not-dumpable", (char *)NULL);
    for (;;)
        pause();
}

/*
 * Makes namespaces, and in them: pid 1, which is none of the commands; pid 2 and 3, not dumpable and
 * dumpable; and goes on as pid 4. The outer procfs can be seen in a folder.
 */
static void enter_namespaces(void *unused) {
    (void)unused;
    open_descriptors(NULL);
    unshare_as_run(CLONE_NEWNS | CLONE_NEWPID);
    pid_t first = fork();
    if (first != 0) {
        waitpid(first, NULL, 0);
        _exit(0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("/proc", "outer", NULL, MS_BIND | MS_REC, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0)
        _exit(121);
    for (int pid = 2; pid <= 3; pid++)
        if (fork() == 0)
            sibling(pid == 3);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    for (;;)
        pause();
}

/* As above, but a path of the child's procfs is what it is compared with. */
static void leads_inside(struct notified *child, const char *path, const char *wanted_path) {
    struct place place;
    int wanted = openat(child->supervisor.root, wanted_path, O_PATH | O_CLOEXEC);
    int got = walk_to_object(&child->call, AT_FDCWD, path, true, &place);
    place_clear(&place);
    ok(same_result(got, -got, wanted, errno), "in a pid namespace %s leads to %s", path, wanted_path);
}

/* The supervisor might look into itself and its like there, the command may not. */
static void outer_procfs(struct notified *child) {
    char path[64];
    leads_inside(child, "/proc/self/cwd/outer/self/fd/60", "proc/4/fd/60");
    leads_inside(child, "outer/thread-self/cwd/file", "proc/4/fd/60");
    snprintf(path, sizeof path, "outer/%d/fd/60", (int)child->call.thread);
    leads_inside(child, path, "proc/4/fd/60");
    snprintf(path, sizeof path, "outer/%d/cwd", (int)getpid());
    fails_with(&child->call, AT_FDCWD, path, EACCES);
    snprintf(path, sizeof path, "outer/%d/root/tmp", (int)getpid());
    fails_with(&child->call, AT_FDCWD, path, EACCES);
    snprintf(path, sizeof path, "outer/%d/task/%d/exe", (int)getpid(), (int)getpid());
    fails_with(&child->call, AT_FDCWD, path, EACCES);
}

/* Its files in procfs are root's from then on. */
static void wait_until_not_dumpable(struct notified *child) {
    struct stat facts = {0};
    for (int i = 0; i < 2000 && (fstatat(child->supervisor.root, "proc/2/stat", &facts, 0) != 0 ||
                                 facts.st_uid == geteuid());
         i++)
        usleep(1000);
    ok(facts.st_uid != geteuid(), "a process is not dumpable");
}

static void procfs_of_its_own(void) {
    struct notified child;
    char root[64];
    if (!ok(notified_start(&child, waiting_call, 1, enter_namespaces, wait_for_ever, NULL) &&
                notified_next(&child),
            "a process in a pid namespace waits for its answer"))
        return;
    close(child.supervisor.root);
    snprintf(root, sizeof root, "/proc/%d/root", (int)child.call.thread);
    child.supervisor.root = open(root, O_PATH | O_CLOEXEC);
    leads_inside(&child, "/proc/self/status", "proc/4/status");
    leads_inside(&child, "/proc/thread-self/status", "proc/4/task/4/status");
    leads_inside(&child, "/proc/self/fd/60", "proc/4/fd/60");
    leads_inside(&child, "/dev/fd/61/file", "proc/4/fd/61/file");
    leads_inside(&child, "/proc/3/fd/60", "proc/4/fd/60");
    leads_inside(&child, "/proc/3/cwd/file", "proc/4/cwd/file");
    leads_inside(&child, "/proc/3/root/proc/4", "proc/4");
    fails_with(&child.call, AT_FDCWD, "/proc/1/cwd", EACCES);
    fails_with(&child.call, AT_FDCWD, "/proc/1/exe", EACCES);
    fails_with(&child.call, AT_FDCWD, "/proc/1/root/tmp", EACCES);
    fails_with(&child.call, AT_FDCWD, "/proc/1/fd/60", EACCES);
    wait_until_not_dumpable(&child);
    fails_with(&child.call, AT_FDCWD, "/proc/2/cwd", EACCES);
    outer_procfs(&child);
    notified_end(&child, true);
}

/* --- a command that is not dumpable itself --- */

static const char waiting_argument[] = "--waiting";

static int execute_itself(void *unused) {
    (void)unused;
    execl("/proc/self/exe", "walk_procfs_test", waiting_argument, (char *)NULL);
    return 1;
}

/* Whoever looks into its folder of descriptors is refused, but for itself. */
static void own_descriptors(void) {
    struct notified child;
    char root[64], file[128], deep[128];
    if (!ok(notified_start(&child, waiting_call, 1, enter_namespaces, execute_itself, NULL) &&
                notified_next(&child),
            "a process that is not dumpable waits for its answer"))
        return;
    close(child.supervisor.root);
    snprintf(root, sizeof root, "/proc/%d/root", (int)child.call.thread);
    child.supervisor.root = open(root, O_PATH | O_CLOEXEC);
    snprintf(file, sizeof file, "%s/file", top + 1);
    snprintf(deep, sizeof deep, "%s/dir/sub/deep", top + 1);
    is_int(openat(child.supervisor.root, "proc/4/fd/60", O_PATH), -1, "its descriptors are its own");
    leads_inside(&child, "/proc/self/fd/60", file);
    leads_inside(&child, "/proc/4/fd/60", file);
    leads_inside(&child, "/dev/fd/61/sub/deep", deep);
    leads_inside(&child, "/proc/thread-self/fd/61/up/file", file);
    leads_inside(&child, "/proc/self/cwd/file", file);
    fails_with(&child.call, AT_FDCWD, "/proc/self/fd/59", ENOENT);
    fails_with(&child.call, AT_FDCWD, "/proc/self/fd/060", ENOENT);
    fails_with(&child.call, AT_FDCWD, "/proc/self/fd/x", ENOENT);
    fails_with(&child.call, AT_FDCWD, "/proc/self/fd/60/", ENOTDIR);
    fails_with(&child.call, AT_FDCWD, "/proc/self/map_files/60", EACCES);
    wait_until_not_dumpable(&child);
    fails_with(&child.call, AT_FDCWD, "/proc/2/fd/60", EACCES);
    notified_end(&child, true);
}

int main(int argc, char **argv) {
    struct notified child;
    if (argc == 2) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        if (strcmp(argv[1], waiting_argument) == 0)
            wait_for_ever(NULL);
        pause();
    }
    if (!ok(become_plain_user(), "the test runs as a plain user"))
        return done_testing();
    make_tree();
    if (ok(notified_start(&child, waiting_call, 1, open_descriptors, wait_for_ever, NULL) &&
               notified_next(&child),
           "a process waits for its answer")) {
        own_procfs(&child.call, child.pid);
        notified_end(&child, true);
    }
    procfs_of_its_own();
    own_descriptors();
    remove_tree();
    return done_testing();
}
