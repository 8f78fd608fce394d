/* What the kernel refuses to a process that entered the domain, and what it leaves. */
#include "exec/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static bool refused(int result) {
    return result < 0 && errno == EACCES;
}

static int bind_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "new"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = bind(fd, (const struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static void names(void) {
    ok(refused(open("new", O_CREAT | O_WRONLY, 0600)) && refused(open(".", O_TMPFILE | O_RDWR, 0600)),
       "no file is made");
    ok(refused(mkdir("new", 0700)) && refused(symlink("file", "new")) && refused(mkfifo("new", 0600)) &&
           refused(bind_socket()),
       "nor anything else");
    ok(link("file", "folder/new") < 0 && rename("file", "folder/new") < 0,
       "nothing gets into another folder");
}

static void opens(int before) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", before);
    ok(refused(open("file", O_WRONLY)) && refused(open("file", O_RDWR)) && refused(open(path, O_WRONLY)),
       "nothing is opened to be written");
    int memory = memfd_create("memory", MFD_CLOEXEC);
    ok(open("file", O_RDONLY) >= 0 && open("/dev/null", O_RDWR) >= 0 && write(memory, "x", 1) == 1 &&
           write(before, "x", 1) == 1,
       "reading, devices, and what is open already stay");
}

static void enter(void) {
    int before = open("file", O_CREAT | O_RDWR, 0600);
    if (!ok(before >= 0 && mkdir("folder", 0700) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
            "there is a file") ||
        !is_int(landlock_enter(), 0, "this kernel has Landlock"))
        return;
    names();
    opens(before);
}

int main(void) {
    char folder[] = "/var/tmp/landlock-test-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        enter();
        fflush(stdout);
        _exit(tap_state.failed > 0 ? 255 : (int)tap_state.run);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bool well = WIFEXITED(status) && WEXITSTATUS(status) != 255;
    tap_state.run = well ? (unsigned)WEXITSTATUS(status) : tap_state.run;
    ok(well && unlink("file") == 0 && rmdir("folder") == 0 && rmdir(folder) == 0, "the child is content");
    return done_testing();
}
