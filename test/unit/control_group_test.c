/* Cgroups in folders of plain files: where one is found, what is written there, what is read. */
#include "base/cleanup.h"
#include "exec/control_group.h"
#include "platform/linux/find_control_group.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/var/tmp/os-sandbox-groups-XXXXXX";

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
}

static const char *got(const char *name) {
    static char text[256];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[size < 0 ? 0 : size] = '\0';
    return text;
}

static void make(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    if (mkdir(path, 0755) != 0)
        abort();
}

static bool is_there(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return access(path, F_OK) == 0;
}

/* --- where a process is --- */

#define V1                                                                                                   \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup "       \
    "cgroup rw,memory\n"

static void own(void) {
    static const struct {
        const char *cgroup, *mounts, *own, *top, *name;
    } cases[] = {
        {"0::/user.slice/a.scope\n",
         "30 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
         "/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup", "a host with version 2 alone"},
        {"4:memory:/x\n0::/\n", V1 "41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n",
         "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified", "a host with both"},
        {"0::/docker/1/app\n", "30 23 0:28 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
         "/sys/fs/cgroup/app", "/sys/fs/cgroup", "a part of the hierarchy"},
        {"0::/a\n", "1 1 0:1 / /a\\040b rw - cgroup2 none rw\n", "/a b/a", "/a b",
         "a mount with a space in its path"},
        {"0::/../b\n", "1 1 0:1 / /c rw - cgroup2 none rw\n", NULL, NULL, "a group outside of the namespace"},
        {"0::/b\n", "1 1 0:1 /bb /c rw - cgroup2 none rw\n", NULL, NULL, "a mount of another part"},
        {"4:memory:/x\n", V1, NULL, NULL, "a host without version 2"},
        {"0::/\n", V1, NULL, NULL, "one where it is not mounted"},
        {"0::/a", "", NULL, NULL, "no mounts"},
        {"", "", NULL, NULL, "nothing at all"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        cleanup_free char *found = NULL;
        cleanup_free char *top = NULL;
        int failed = control_group_own(cases[i].cgroup, cases[i].mounts, &found, &top, &err);
        if (cases[i].own == NULL)
            ok(failed != 0 && err.text[0] != '\0', "none is found: %s", cases[i].name);
        else
            ok(failed == 0 && strcmp(found, cases[i].own) == 0 && strcmp(top, cases[i].top) == 0, "%s: %s",
               cases[i].name, failed == 0 ? found : err.text);
    }
}

/* --- which of its folders will do --- */

static const struct cost_limits both = {.most = {[COST_MEMORY] = 1000, [COST_PROCESSES] = 20}};

static void search_is(const char *from, const char *wanted, uint64_t processes, const char *name) {
    char start[512];
    char expected[512];
    struct error err = {0};
    struct control_groups out = {0};
    snprintf(start, sizeof start, "%s/%s", scratch, from);
    snprintf(expected, sizeof expected, "%s/%s", scratch, wanted);
    int failed = control_group_search(start, scratch, &both, &out, &err);
    if (failed != 0)
        ok(strstr(err.text, wanted) != NULL, "%s: %s", name, err.text);
    else
        ok(strcmp(out.folder, expected) == 0 && out.processes == processes, "%s: %s", name, out.folder);
    free(out.folder);
}

static void search(void) {
    make("slice");
    make("slice/scope");
    put("cgroup.procs", "");
    put("cgroup.subtree_control", "");
    put("slice/cgroup.procs", "");
    put("slice/cgroup.subtree_control", "cpu memory pids\n");
    put("slice/scope/cgroup.procs", "1\n");
    put("slice/scope/cgroup.subtree_control", "\n");
    put("slice/scope/memory.max", "max\n");
    put("slice/scope/cpu.max", "max 100000\n");
    put("slice/scope/pids.max", "max\n");
    search_is("slice/scope", "slice", 0, "the nearest one whose groups get what is needed");
    put("slice/scope/pids.max", "500\n");
    search_is("slice/scope", "slice", 500, "a limit of processes is taken along");
    put("slice/cgroup.subtree_control", "memory pidsx\n");
    search_is("slice/scope", "has no memory controller to pass on", 0,
              "the whole name of a controller counts");
    put("slice/cgroup.subtree_control", "memory pids");
    put("slice/scope/memory.max", "1000000\n");
    search_is("slice/scope", "memory.max", 0, "a group with a limit of its own is not left");
    put("slice/scope/memory.max", "max\n");
    put("slice/scope/cpu.max", "50000 100000\n");
    search_is("slice/scope", "cpu.max", 0, "nor one with a share of the processors");
    search_is("slice/none", "is not writable", 0, "one that is not there, or not writable");
    ok(!control_group_helps(&(struct cost_limits){.most = {[COST_FILE] = 1, [COST_OPEN_FILES] = 1}}) &&
           control_group_helps(&both) && control_group_helps(&(struct cost_limits){.most = {[COST_CPU] = 1}}),
       "a cgroup is of use for memory, processes and processor time");
}

/* --- what is written and read --- */

static void limits(void) {
    make("run");
    char path[512];
    snprintf(path, sizeof path, "%s/run", scratch);
    cleanup_fd int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct cost_limits memory = {.most = {[COST_MEMORY] = 123456789012}};
    ok(control_group_limit(folder, &memory, 0) != 0, "a group without the file of a limit is an error");
    put("run/memory.max", "");
    put("run/pids.max", "");
    ok(control_group_limit(folder, &memory, 0) == 0, "but for that of swap");
    is_str(got("run/memory.max"), "123456789012", "the limit of memory");
    is_str(got("run/pids.max"), "", "what is not limited is not written");
    put("run/memory.swap.max", "max");
    ok(control_group_limit(folder, &both, 0) == 0, "memory and processes");
    ok(strncmp(got("run/memory.swap.max"), "0", 1) == 0, "nothing goes to the disk instead");
    is_str(got("run/pids.max"), "22", "bwrap and the stage are processes, too");
    put("run/pids.max", "");
    ok(control_group_limit(folder, &both, 7) == 0, "with a limit that the left group had");
    is_str(got("run/pids.max"), "7", "the lower one holds");

    struct group_usage usage;
    control_group_read(folder, &usage);
    ok(usage.cpu_us == 0 && !usage.out_of_memory && !usage.out_of_pids,
       "a group without statistics has used nothing");
    put("run/cpu.stat", "usage_usec 1234567\nuser_usec 7\n");
    put("run/memory.events", "low 0\noom 3\noom_kill 0\noom_group_kill 9\n");
    put("run/pids.events", "max 0\n");
    control_group_read(folder, &usage);
    ok(usage.cpu_us == 1234567 && !usage.out_of_memory && !usage.out_of_pids, "processor time is read");
    put("run/memory.events", "low 0\noom 3\noom_kill 1");
    put("run/pids.events", "max 4\n");
    control_group_read(folder, &usage);
    ok(usage.out_of_memory && usage.out_of_pids, "kills for memory and refused forks are read");
}

/* --- whose groups are whose --- */

static void leftovers(void) {
    const struct cost_limits none = {.most = {0}};
    struct control_group first;
    struct control_group second;
    char parent[512];
    make("groups");
    make("groups/os-sandbox-1-0");
    make("groups/other");
    make("groups/os-sandbox-2-0");
    put("groups/os-sandbox-2-0/process", "");
    snprintf(parent, sizeof parent, "%s/groups", scratch);
    ok(control_group_make(parent, &none, 0, &first) == 0, "a group is made");
    ok(!is_there("groups/os-sandbox-1-0"), "one that nobody holds is removed then");
    ok(is_there("groups/other") && is_there("groups/os-sandbox-2-0"), "nothing else, nor one that is in use");
    ok(control_group_make(parent, &none, 0, &second) == 0 && strcmp(first.name, second.name) != 0,
       "a second one has another name, and leaves the first");
    char name[128];
    snprintf(name, sizeof name, "groups/%s", first.name);
    ok(is_there(name), "which is held");
    control_group_remove(&first);
    control_group_remove(&second);
    ok(!is_there(name) && first.folder == -1 && first.parent == -1, "and is removed with its run");
    ok(control_group_make(parent, &both, 0, &first) != 0 && first.folder == -1,
       "one that takes no limits is none");
    put("groups/os-sandbox-2-0/process", "");
}

int main(void) {
    if (mkdtemp(scratch) == NULL)
        return 1;
    own();
    search();
    limits();
    leftovers();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
