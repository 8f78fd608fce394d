/* unix_diag on real sockets, also across network namespaces. */
#include "exec/unix_diag.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char disk[] = "/var/tmp/os-sandbox-diag-XXXXXX";
static char memory[] = "/dev/shm/os-sandbox-diag-XXXXXX";

static struct sockaddr_un address_of(const char *folder, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
    return address;
}

static int make(const char *folder, const char *name, int type, bool listening) {
    struct sockaddr_un address = address_of(folder, name);
    int fd = socket(AF_UNIX, type, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        (listening && listen(fd, 5) != 0))
        ok(false, "%s/%s is made: %s", folder, name, strerror(errno));
    return fd;
}

static int connect_to(const char *folder, const char *name, int type) {
    struct sockaddr_un address = address_of(folder, name);
    int fd = socket(AF_UNIX, type, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        ok(false, "%s is connected to: %s", name, strerror(errno));
    return fd;
}

static enum unix_diag_answer ask(struct unix_diag *diag, const char *folder, const char *name) {
    struct sockaddr_un address = address_of(folder, name);
    struct stat facts = {0};
    stat(address.sun_path, &facts);
    return unix_diag_lists(diag, facts.st_dev, facts.st_ino, NULL);
}

static void kinds(struct unix_diag *diag, const char *folder) {
    static const struct {
        const char *name;
        int type;
        bool listening;
    } sockets[] = {{"stream", SOCK_STREAM, true},
                   {"seqpacket", SOCK_SEQPACKET, true},
                   {"datagram", SOCK_DGRAM, false},
                   {"bound", SOCK_STREAM, false}};
    for (size_t i = 0; i < sizeof sockets / sizeof sockets[0]; i++) {
        int fd = make(folder, sockets[i].name, sockets[i].type, sockets[i].listening);
        ok(ask(diag, folder, sockets[i].name) == DIAG_LISTED, "a %s socket in %s is listed", sockets[i].name,
           folder);
        close(fd);
        ok(ask(diag, folder, sockets[i].name) == DIAG_NOT_LISTED, "once closed it is not: a stale file");
        unlink(address_of(folder, sockets[i].name).sun_path);
    }
}

static void names(struct unix_diag *diag) {
    int fd = make(disk, "old", SOCK_STREAM, true);
    rename(address_of(disk, "old").sun_path, address_of(disk, "new").sun_path);
    ok(ask(diag, disk, "new") == DIAG_LISTED, "a socket keeps its file under another name");
    int other = make(disk, "old", SOCK_STREAM, true);
    struct unix_diag_name name = {.text = "x"};
    struct stat facts = {0};
    stat(address_of(disk, "new").sun_path, &facts);
    unix_diag_lists(diag, facts.st_dev, facts.st_ino, &name);
    is_str(name.text, address_of(disk, "old").sun_path, "and the kernel still knows what it was bound to");
    close(fd);
    ok(ask(diag, disk, "old") == DIAG_LISTED && ask(diag, disk, "new") == DIAG_NOT_LISTED,
       "two sockets, one after the other under one name, are told apart");
    close(other);
    unlink(address_of(disk, "old").sun_path);
    unlink(address_of(disk, "new").sun_path);
    ok(ask(diag, "/etc", "passwd") == DIAG_NOT_LISTED, "a plain file is not listed");
    ok(ask(NULL, "/etc", "passwd") == DIAG_UNKNOWN, "without a diag nothing is known");
    ok(unix_diag_new(-1) == NULL, "there is none without a descriptor");
    int pipe_ends[2];
    if (pipe(pipe_ends) == 0) {
        struct unix_diag *broken = unix_diag_new(pipe_ends[0]);
        ok(ask(broken, "/etc", "passwd") == DIAG_UNKNOWN, "of something else than a diag nothing is known");
        unix_diag_free(broken);
        close(pipe_ends[1]);
    }
}

static void connected(struct unix_diag *diag) {
    int server = make(disk, "datagram", SOCK_DGRAM, false);
    int client = connect_to(disk, "datagram", SOCK_DGRAM);
    ok(ask(diag, disk, "datagram") == DIAG_LISTED,
       "a datagram socket that somebody is connected to is listed");
    close(client);
    close(server);
    unlink(address_of(disk, "datagram").sun_path);
    server = make(disk, "stream", SOCK_STREAM, true);
    client = connect_to(disk, "stream", SOCK_STREAM);
    int accepted = accept(server, NULL, NULL);
    close(server);
    ok(ask(diag, disk, "stream") == DIAG_NOT_LISTED,
       "an accepted connection is none that can be connected to");
    close(client);
    close(accepted);
    unlink(address_of(disk, "stream").sun_path);
}

/* In a network namespace of its own: the results by exit status, one bit each. */
static int other_namespace(void) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return 128;
    struct unix_diag *diag = unix_diag_new(unix_diag_open());
    int status = ask(diag, disk, "outside") == DIAG_NOT_LISTED ? 1 : 0;
    int client = connect_to(disk, "outside", SOCK_STREAM);
    char accepted;
    if (read(client, &accepted, 1) != 1)
        return 128;
    status |= ask(diag, disk, "outside") == DIAG_NOT_LISTED ? 2 : 0;
    int server = make(disk, "inside", SOCK_STREAM, true);
    status |= ask(diag, disk, "inside") == DIAG_LISTED ? 4 : 0;
    close(client);
    close(server);
    unix_diag_free(diag);
    return status;
}

static void namespaces(struct unix_diag *diag) {
    int server = make(disk, "outside", SOCK_STREAM, true);
    pid_t child = fork();
    if (child == 0)
        _exit(other_namespace());
    int connection = accept(server, NULL, NULL);
    if (write(connection, "", 1) != 1)
        ok(false, "the connection is accepted");
    int status = 0;
    waitpid(child, &status, 0);
    int bits = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    ok((bits & 128) == 0 && (bits & 1), "a socket of another network is not listed");
    ok(bits & 2, "also not when it is connected to from here, which makes its other end one of ours");
    ok(bits & 4, "one that is made here is");
    ok(ask(diag, disk, "outside") == DIAG_LISTED, "who made it sees it");
    ok(ask(diag, disk, "inside") == DIAG_NOT_LISTED, "and does not see the other's");
    close(connection);
    close(server);
    unlink(address_of(disk, "outside").sun_path);
    unlink(address_of(disk, "inside").sun_path);
}

struct asking {
    struct unix_diag *diag;
    unsigned wrong;
};

#define CROWD 900

static void *ask_often(void *data) {
    struct asking *asking = data;
    for (unsigned i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "crowd-%u", (i * 7919u) % CROWD);
        asking->wrong += ask(asking->diag, memory, name) == DIAG_LISTED ? 0 : 1;
        asking->wrong += ask(asking->diag, "/etc", "passwd") == DIAG_NOT_LISTED ? 0 : 1;
    }
    return NULL;
}

/* More sockets than one answer holds, four threads. */
static void crowds(struct unix_diag *diag) {
    static int fds[CROWD];
    char name[32];
    for (unsigned i = 0; i < CROWD; i++) {
        snprintf(name, sizeof name, "crowd-%u", i);
        fds[i] = make(memory, name, SOCK_DGRAM, false);
    }
    pthread_t threads[4];
    struct asking asking[4];
    for (size_t i = 0; i < 4; i++) {
        asking[i] = (struct asking){.diag = diag};
        pthread_create(&threads[i], NULL, ask_often, &asking[i]);
    }
    unsigned wrong = 0;
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        wrong += asking[i].wrong;
    }
    is_int(wrong, 0, "four threads ask for 900 sockets at once, and every answer is right");
    for (unsigned i = 0; i < CROWD; i++) {
        snprintf(name, sizeof name, "crowd-%u", i);
        unlink(address_of(memory, name).sun_path);
        close(fds[i]);
    }
}

int main(void) {
    if (mkdtemp(disk) == NULL || mkdtemp(memory) == NULL)
        return 1;
    struct unix_diag *diag = unix_diag_new(unix_diag_open());
    kinds(diag, disk);
    kinds(diag, memory);
    names(diag);
    connected(diag);
    namespaces(diag);
    crowds(diag);
    unix_diag_free(diag);
    rmdir(disk);
    rmdir(memory);
    return done_testing();
}
