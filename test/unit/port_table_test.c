#include "exec/port_table.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void is_owner(struct port_owner got, uint32_t run, uint32_t pid, const char *name) {
    if (!ok(got.run == run && got.pid == pid, "%s", name))
        printf("#   got: run %u, pid %u\n", got.run, got.pid);
}

/* What another process, which maps it by itself, does there. */
static void in_child(int fd, void (*function)(struct port_table *)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct port_table *table = port_table_map(fd);
        if (table != NULL)
            function(table);
        _exit(table != NULL ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    is_int(status, 0, "another process maps it");
}

static void note(struct port_table *table) {
    port_table_note(table, PORT_TCP4, 40000, (struct port_owner){.run = 7, .pid = 1234});
    port_table_note(table, PORT_TCP6, 40000, (struct port_owner){.run = 8, .pid = 4000000000u});
    port_table_note(table, PORT_UDP4, 65535, (struct port_owner){.run = UINT32_MAX, .pid = 1});
}

static void owners(int fd, struct port_table *table) {
    is_owner(port_table_look(table, PORT_TCP4, 40000), 0, 0, "at first nobody is known");
    is_int((long long)port_table_noted(table), 0, "and nothing was noted");
    in_child(fd, note);
    is_int((long long)port_table_noted(table), 3, "every note counts");
    is_owner(port_table_look(table, PORT_TCP4, 40000), 7, 1234, "an owner can be looked at");
    is_owner(port_table_take(table, PORT_TCP4, 40000), 7, 1234, "and taken");
    is_owner(port_table_take(table, PORT_TCP4, 40000), 0, 0, "once");
    is_owner(port_table_take(table, PORT_TCP6, 40000), 8, 4000000000u, "the other family has its own");
    is_owner(port_table_look(table, PORT_UDP4, 65535), UINT32_MAX, 1,
             "the last port and the largest numbers fit");
    is_owner(port_table_look(table, PORT_UDP6, 0), 0, 0, "nothing runs over");
}

static void listen_there(struct port_table *table) {
    port_table_set_listening(table, PORT_GATEWAY, 443, true);
    port_table_set_listening(table, PORT_GATEWAY, 442, true);
    port_table_set_listening(table, PORT_GATEWAY, 442, false);
    port_table_set_listening(table, PORT_LOOPBACK, 65535, true);
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT | PORT_TABLE_CLOSED);
}

static void listeners(int fd, struct port_table *table) {
    ok(!port_table_is_listening(table, PORT_GATEWAY, 443), "at first there is no listener");
    in_child(fd, listen_there);
    ok(port_table_is_listening(table, PORT_GATEWAY, 443), "one that another process set is seen");
    ok(!port_table_is_listening(table, PORT_GATEWAY, 442), "one that it took back is not");
    ok(!port_table_is_listening(table, PORT_LOOPBACK, 443), "the loopback has its own");
    ok(port_table_is_listening(table, PORT_LOOPBACK, 65535), "up to the last port");
    is_int(port_table_flags(table), PORT_TABLE_TRANSPARENT | PORT_TABLE_CLOSED, "flags are seen");
}

static void runs(struct port_table *table) {
    is_int(port_table_run_of(table, 100), 0, "a process is of no run at first");
    for (uint32_t i = 1; i <= 1024; i++)
        port_table_add_run(table, i, (pid_t)(100 + i));
    is_int(port_table_run_of(table, 101), 1, "a run's process is found");
    is_int(port_table_run_of(table, 1124), 1024, "also the last of many");
    port_table_add_run(table, 5000, 5000);
    is_int(port_table_run_of(table, 5000), 0, "one that finds no room is not known");
    port_table_remove_run(table, 500, 600);
    is_int(port_table_run_of(table, 600), 0, "a run that is over is forgotten");
    port_table_add_run(table, 5000, 5000);
    is_int(port_table_run_of(table, 5000), 5000, "and its place serves again");
}

static void refusals(void) {
    int fd = memfd_create("other", MFD_CLOEXEC);
    ok(port_table_map(fd) == NULL, "an empty file is no table");
    is_int(ftruncate(fd, 4096), 0, "nor is a file");
    ok(port_table_map(fd) == NULL, "of another size");
    close(fd);
    ok(port_table_map(-1) == NULL, "nor is what is no file");
    fd = port_table_make();
    ok(ftruncate(fd, 4096) != 0, "a table keeps its size");
    ok((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "and is closed on exec");
    close(fd);
}

int main(void) {
    int fd = port_table_make();
    struct port_table *table = port_table_map(fd);
    if (table == NULL)
        return 1;
    owners(fd, table);
    listeners(fd, table);
    runs(table);
    refusals();
    port_table_unmap(table);
    close(fd);
    return done_testing();
}
