/*
 * Descriptors that lead where paths do not:
 *   give SOCKET                 sends the current folder to who listens there, and ends
 *   take SOCKET SECRET KEPT     takes a folder, waits until its sender's run is over, and uses it
 *   magic PID OUT               what /proc has of a process, of an own child and of this process, as ways to
 * OUT child SECONDS               the descriptors of the process that binds sockets for this one
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

/* --- folders from another run --- */

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static int give(const char *path) {
    struct sockaddr_un address = address_of(path);
    int fd = open(".", O_RDONLY | O_DIRECTORY);
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte = 0;
    union control control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    for (int i = 0; connect(connection, (const struct sockaddr *)&address, sizeof address) != 0; i++)
        if (i == 500 || usleep(10000) != 0)
            return 2;
    /* The taker goes on when this end is closed. A refusal to send is an answer, too. */
    report("send", sendmsg(connection, &message, 0));
    return 0;
}

static int take_descriptor(int connection) {
    char byte;
    union control control = {0};
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(connection, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

static int take(const char *path, const char *secret, const char *kept) {
    struct sockaddr_un address = address_of(path);
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listening, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listening, 1) != 0)
        return 2;
    int connection = accept(listening, NULL, NULL);
    int folder = take_descriptor(connection);
    char byte;
    if (read(connection, &byte, 1) != 0)
        return 2;
    usleep(500000);
    report("read what is denied", openat(folder, secret, O_RDONLY));
    report("write what is denied", openat(folder, kept, O_WRONLY | O_APPEND));
    report("unlink what is denied", unlinkat(folder, kept, 0));
    report("rename what is denied", renameat(folder, secret, folder, "renamed"));
    report("go up", openat(folder, "../up", O_WRONLY | O_CREAT, 0666));
    return 0;
}

/* --- magic links --- */

static void report_at(const char *call, const char *path, long result) {
    char name[600];
    int errnum = errno;
    snprintf(name, sizeof name, "%s %s", call, path);
    errno = errnum;
    report(name, result);
}

static void use(const char *way, const char *out) {
    char path[512];
    snprintf(path, sizeof path, "%s%s/made", way, out);
    report_at("open", path, open(path, O_WRONLY | O_CREAT, 0666));
    snprintf(path, sizeof path, "%s%s/folder", way, out);
    report_at("mkdir", path, mkdir(path, 0777));
    snprintf(path, sizeof path, "%s%s/link", way, out);
    report_at("symlink", path, symlink("x", path));
    snprintf(path, sizeof path, "%s%s/victim", way, out);
    report_at("chmod", path, chmod(path, 0777));
    report_at("truncate", path, truncate(path, 0));
    report_at("link", path, link(path, "linked"));
    report_at("rename", path, rename(path, "stolen"));
    report_at("unlink", path, unlink(path));
}

/* Links of a process that is none of the command's own. */
static void use_process(const char *process, const char *out) {
    static const char *const names[] = {"root", "cwd", "task/%s/root", "task/%s/cwd"};
    char name[64], way[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, names[i], process);
        snprintf(way, sizeof way, "/proc/%s/%s/../../../../../../..", process, name);
        use(way, out);
    }
    for (int fd = 0; fd < 16; fd++) {
        snprintf(way, sizeof way, "/proc/%s/fd/%d", process, fd);
        report_at("open", way, open(way, O_WRONLY | O_NONBLOCK));
        use(way, out);
    }
}

static int magic(const char *process, const char *out) {
    char way[64];
    use_process(process, out);
    use("/proc/self/root", out);
    use("/proc/thread-self/root", out);
    use("/proc/self/cwd/../../../../../../..", out);
    use("/proc/self/task/../root", out);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    snprintf(way, sizeof way, "/proc/%d/root", (int)child);
    use(way, out);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}

/* --- the process that binds --- */

/* A path that takes long: each link leads to the next by a long way. */
static void make_chain(void) {
    enum { LINKS = 4 };
    for (int i = 0; i < LINKS; i++) {
        char name[8], text[4096] = "";
        snprintf(name, sizeof name, "l%d", i);
        if (i < LINKS - 1)
            snprintf(text, sizeof text, "l%d/", i + 1);
        while (strlen(text) < 4000)
            strcat(text, "././");
        if (symlink(text, name) != 0)
            exit(2);
    }
}

static void *bind_again(void *data) {
    struct sockaddr_un address = address_of(data);
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(fd, (const struct sockaddr *)&address, sizeof address);
        close(fd);
    }
    return NULL;
}

/* The number of the newest process, as /proc shows it. */
static int newest(void) {
    int ends[2];
    int number = -1;
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        char text[16] = "";
        if (readlink("/proc/self", text, sizeof text - 1) > 0)
            number = atoi(text);
        _exit(write(ends[1], &number, sizeof number) > 0 ? 0 : 1);
    }
    if (read(ends[0], &number, sizeof number) < 0)
        number = -1;
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    return number;
}

static void look_at(int process, int *found) {
    struct stat own, facts;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", process);
    if (stat(path, &facts) != 0 || stat("/proc/self/exe", &own) != 0 || facts.st_ino == own.st_ino)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    (*found)++;
    closedir(folder);
}

static int child(int seconds) {
    static char paths[][8] = {"l0/s1", "l0/s2"};
    pthread_t thread;
    int found = 0;
    make_chain();
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, bind_again, paths[i]) != 0)
            return 2;
    for (time_t end = time(NULL) + seconds; found == 0 && time(NULL) < end;) {
        int number = newest();
        for (int i = 0; i < 40 && found == 0; i++)
            for (int process = number - 2; process < number + 12; process++)
                look_at(process, &found);
    }
    errno = EACCES;
    report("descriptors of another process", found > 0 ? 0 : -1);
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "give") == 0)
        return give(argv[2]);
    if (argc == 5 && strcmp(argv[1], "take") == 0)
        return take(argv[2], argv[3], argv[4]);
    if (argc == 4 && strcmp(argv[1], "magic") == 0)
        return magic(argv[2], argv[3]);
    return argc == 3 && strcmp(argv[1], "child") == 0 ? child(atoi(argv[2])) : 2;
}
