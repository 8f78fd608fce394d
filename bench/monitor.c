/*
 * What the monitor costs per call: monitor write|read|refused|same FOLDER COUNT
 * Prints the milliseconds that COUNT calls took: files created with 100 bytes (and then removed), files read,
 * names that may not be created, one such name again and again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char text[100] = "text";
static const char *folder;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *name_of(int i) {
    static char name[4096];
    snprintf(name, sizeof name, "%s/file%d", folder, i);
    return name;
}

static void write_file(int i) {
    int fd = open(name_of(i), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text, sizeof text) != sizeof text || close(fd) != 0)
        fail(name_of(i));
}

static void read_file(int i) {
    char got[sizeof text];
    int fd = open(name_of(i), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, got, sizeof got) != sizeof got || close(fd) != 0)
        fail(name_of(i));
}

static void be_refused(int i) {
    if (open(name_of(i), O_CREAT | O_WRONLY | O_CLOEXEC, 0666) >= 0) {
        fprintf(stderr, "%s was not refused\n", name_of(i));
        exit(1);
    }
}

static void be_refused_again(int i) {
    (void)i;
    be_refused(0);
}

/* What was written before is not to be waited for in the measured time. */
static void settle(void) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    if (fd >= 0)
        syncfs(fd);
    close(fd);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*call)(int);
    } kinds[] = {
        {"write", write_file}, {"read", read_file}, {"refused", be_refused}, {"same", be_refused_again}};
    if (argc != 4)
        return 2;
    folder = argv[2];
    int count = atoi(argv[3]);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(argv[1], kinds[k].name) != 0)
            continue;
        settle();
        double start = now();
        for (int i = 0; i < count; i++)
            kinds[k].call(i);
        printf("%.3f\n", now() - start);
        for (int i = 0; kinds[k].call == write_file && i < count; i++)
            unlink(name_of(i));
        return 0;
    }
    return 2;
}
