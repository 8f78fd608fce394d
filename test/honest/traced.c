/* What a debugger is shown: functions, a thread, files, a child. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int made;

static int make_folder(const char *name) {
    made += mkdir(name, 0755) == 0;
    return made;
}

static void *in_thread(void *name) {
    make_folder(name);
    return NULL;
}

int main(void) {
    pthread_t thread;
    make_folder("one");
    pthread_create(&thread, NULL, in_thread, "two");
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(open("three", O_CREAT | O_WRONLY, 0644) < 0 ? errno : 7);
    int status = 0;
    waitpid(child, &status, 0);
    printf("made %d, child %d\n", made, WEXITSTATUS(status));
    return made;
}
