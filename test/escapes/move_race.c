/*
 * A folder that becomes a git directory while somebody makes a hook in it, in the current folder:
 *   move_race maker          makes stage/hooks/post-commit by every way there is, until the file "over" is
 * there move_race blocker        makes stage anew, with something in it, as soon as it is gone, until then
 *   move_race mover ROUNDS   makes stage/hooks and moves stage to .git; counts the hooks that stay, at most
 * ROUNDS times and 10 seconds, and leaves what the last round made
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOOK "stage/hooks/post-commit"

static bool exists(const char *name) {
    return faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make_file(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0777);
    if (fd >= 0)
        close(fd);
}

static int maker(void) {
    int folder = -1;
    make_file("own");
    for (unsigned i = 0; !exists("over"); i++) {
        int fresh = open("stage/hooks", O_RDONLY | O_DIRECTORY);
        if (fresh >= 0) {
            if (folder >= 0)
                close(folder);
            folder = fresh;
        }
        switch (i % 8) {
        case 0:
        case 1:
            make_file(HOOK);
            break;
        case 2:
        case 3: {
            int fd = openat(folder, "post-commit", O_WRONLY | O_CREAT | O_EXCL, 0777);
            if (fd >= 0)
                close(fd);
            break;
        }
        case 4:
            link("own", HOOK);
            break;
        case 5:
            linkat(AT_FDCWD, "own", folder, "post-commit", 0);
            break;
        case 6:
            symlinkat("/bin/true", folder, "post-commit");
            break;
        default:
            make_file("moved");
            renameat(AT_FDCWD, "moved", folder, "post-commit");
        }
    }
    return 0;
}

static int blocker(void) {
    while (!exists("over")) {
        mkdir("stage", 0777);
        mkdir("stage/block", 0777);
        usleep(100);
    }
    return 0;
}

/* A refused call may need its time to take back what it made. */
static bool stays(const char *name) {
    for (int pause = 100; pause < 50000; pause *= 3) {
        if (!exists(name))
            return false;
        usleep((useconds_t)pause);
    }
    return exists(name);
}

static void clean(void) {
    static const char *const files[] = {"stage/hooks/post-commit", ".git/hooks/post-commit"};
    static const char *const folders[] = {"stage/hooks", "stage/block", "stage",
                                          ".git/hooks",  ".git/block",  ".git"};
    for (int i = 0; i < 20 && (exists("stage") || exists(".git")); i++) {
        for (size_t at = 0; at < sizeof files / sizeof files[0]; at++)
            unlink(files[at]);
        for (size_t at = 0; at < sizeof folders / sizeof folders[0]; at++)
            rmdir(folders[at]);
    }
}

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static int mover(int rounds) {
    int moved = 0, lost = 0, done = 0;
    for (time_t end = now() + 10; done < rounds && now() < end; done++) {
        clean();
        mkdir("stage", 0777);
        mkdir("stage/hooks", 0777);
        for (volatile int pause = rand() % 20000; pause > 0; pause--)
            ;
        if (rename("stage", ".git") != 0)
            continue;
        moved++;
        if (stays(".git/hooks/post-commit"))
            lost++;
    }
    make_file("over");
    printf("rounds %d moved %d lost %d\n", done, moved, lost);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "maker") == 0)
        return maker();
    if (argc == 2 && strcmp(argv[1], "blocker") == 0)
        return blocker();
    return argc == 3 && strcmp(argv[1], "mover") == 0 ? mover(atoi(argv[2])) : 2;
}
