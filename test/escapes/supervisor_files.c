/*
 * Names and permissions that change between the supervisor's look at a path and its call. In the workspace:
 *   flip SECONDS OPERATION FOLDER PATH [NEW]  rename, unlink or rmdir PATH while FOLDER may be searched and
 * not swap SECONDS TARGET...                    every call through names that are folders and links to the
 * targets up SECONDS FOLDER                         new names above FOLDER, which another moves about move
 * SECONDS FROM TO                      moves FROM to TO and back late PATH exits while threads unlink PATH by
 * a long way
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static atomic_bool over;

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static pthread_t start(void *(*function)(void *), const void *data) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *)data) != 0)
        exit(2);
    return thread;
}

/* --- flip --- */

static void *flip_mode(void *data) {
    int folder = open(data, O_RDONLY | O_DIRECTORY);
    while (!over) {
        fchmod(folder, 0600);
        fchmod(folder, 0700);
    }
    return NULL;
}

static int attempt(const char *operation, const char *path, const char *new_path) {
    if (strcmp(operation, "rename") == 0)
        return rename(path, new_path);
    if (strcmp(operation, "exchange") == 0)
        return renameat2(AT_FDCWD, path, AT_FDCWD, new_path, RENAME_EXCHANGE);
    return strcmp(operation, "unlink") == 0 ? unlink(path) : rmdir(path);
}

static int flip(int seconds, const char *operation, const char *folder, const char *path,
                const char *new_path) {
    pthread_t flipping = start(flip_mode, folder);
    int result;
    for (time_t end = now() + seconds; (result = attempt(operation, path, new_path)) != 0 && now() < end;)
        ;
    over = true;
    pthread_join(flipping, NULL);
    report(operation, result);
    return 0;
}

/* --- swap: hop and hop/inner are folders, or symlinks to a target --- */

struct swapping {
    const char *name;
    const char *link;
};

static void *swap_names(void *data) {
    const struct swapping *names = data;
    while (!over)
        renameat2(AT_FDCWD, names->name, AT_FDCWD, names->link, RENAME_EXCHANGE);
    return NULL;
}

static void create(const char *path, int flags) {
    int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | flags, 06777);
    if (fd >= 0 && write(fd, "attack", 6) == 6)
        close(fd);
}

/* What is there is called victim and folder; what is made, made. */
static void change_all(const char *folder) {
    char made[64], victim[64], inner[64];
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    snprintf(inner, sizeof inner, "%s/folder", folder);
    create(made, 0);
    rename(made, "own");
    rename("own", made);
    unlink(made);
    create(made, O_EXCL);
    unlink(made);
    symlink("victim", made);
    unlink(made);
    mkdir(made, 0777);
    rmdir(made);
    mknod(made, S_IFIFO | 0666, 0);
    unlink(made);
    link("own", made);
    unlink(made);
    chmod(victim, 06777);
    utimensat(AT_FDCWD, victim, NULL, 0);
    setxattr(victim, "user.attack", "x", 1, 0);
    if (truncate(victim, 1) == 0)
        create(victim, O_TRUNC);
    renameat2(AT_FDCWD, victim, AT_FDCWD, "own", RENAME_EXCHANGE);
    rename(victim, "own");
    unlink(victim);
    rmdir(inner);
}

static void *change_by_hop(void *data) {
    while (!over)
        change_all(data);
    return NULL;
}

static int swap(int seconds, char **targets) {
    static const struct swapping swapped[] = {{"hop", "away"}, {"hop/inner", "hop/away"}};
    static const char *const ways[] = {"hop", "hop/inner", "hop/inner/..", "hop/../hop"};
    enum { WAYS = sizeof ways / sizeof ways[0] };
    for (; *targets != NULL; targets++) {
        pthread_t threads[WAYS + 2];
        over = false;
        mkdir("hop", 0777);
        mkdir("hop/inner", 0777);
        unlink("away");
        if (symlink(*targets, "away") != 0 || (symlink(*targets, "hop/away") != 0 && errno != EEXIST))
            return 2;
        for (int i = 0; i < WAYS; i++)
            threads[i] = start(change_by_hop, ways[i]);
        for (int i = 0; i < 2; i++)
            threads[WAYS + i] = start(swap_names, &swapped[i]);
        sleep((unsigned)seconds);
        over = true;
        for (int i = 0; i < WAYS + 2; i++)
            pthread_join(threads[i], NULL);
        if (system("rm -rf hop away own") != 0)
            return 2;
    }
    return 0;
}

/* --- a folder that is moved out of the workspace --- */

static int up(int seconds, const char *folder) {
    int fd;
    while ((fd = open(folder, O_RDONLY | O_DIRECTORY)) < 0)
        if (errno != ENOENT)
            return 2;
    if (fchdir(fd) != 0)
        return 2;
    for (time_t end = now() + seconds; now() < end;) {
        mkdir("../up-by-cwd", 0777);
        mkdirat(fd, "../up-by-descriptor", 0777);
        symlinkat("x", fd, "inner/../../up-by-link");
        close(open("../up-by-open", O_WRONLY | O_CREAT, 0666));
        rename("own", "../up-by-rename");
    }
    return 0;
}

static int move(int seconds, const char *from, const char *to) {
    long moved = 0;
    for (time_t end = now() + seconds; now() < end; moved++)
        if (rename(from, to) != 0 || rename(to, from) != 0)
            return 2;
    return moved > 0 ? 0 : 2;
}

/* --- late --- */

static void *unlink_again(void *data) {
    for (;;)
        unlink(data);
    return NULL;
}

/* The links make the supervisor walk each component by itself. */
static int late(const char *name) {
    char path[4096] = "";
    if (symlink(".", "here") != 0 && errno != EEXIST)
        return 2;
    for (int i = 0; i < 30; i++)
        strcat(path, "here/");
    while (strlen(path) + strlen(name) < sizeof path - 8)
        strcat(path, "././");
    strcat(path, name);
    for (int i = 0; i < 3; i++)
        start(unlink_again, path);
    usleep(20000);
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc >= 6 && strcmp(argv[1], "flip") == 0)
        return flip(atoi(argv[2]), argv[3], argv[4], argv[5], argv[6]);
    if (argc >= 4 && strcmp(argv[1], "swap") == 0)
        return swap(atoi(argv[2]), argv + 3);
    if (argc == 4 && strcmp(argv[1], "up") == 0)
        return up(atoi(argv[2]), argv[3]);
    if (argc == 5 && strcmp(argv[1], "move") == 0)
        return move(atoi(argv[2]), argv[3], argv[4]);
    return argc == 3 && strcmp(argv[1], "late") == 0 ? late(argv[2]) : 2;
}
