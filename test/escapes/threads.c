/*
 * threads refused FOLDER THREADS PATHS: all threads try to make the same files at the same moment.
 * threads exit PATH THREADS: as soon as one of them was refused, the process ends.
 * threads connects COUNT: so many connects wait for one listener, which then takes them all.
 * threads flood FOLDER COUNT [same]: one file after the other, or always the same one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define THREADS_MAX 400

static pthread_barrier_t together;
static const char *place;
static int paths;
static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "many.sock"};

static void *try_all(void *data) {
    (void)data;
    for (int i = 0; i < paths; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d", place, i);
        pthread_barrier_wait(&together);
        open(path, O_CREAT | O_WRONLY, 0600);
    }
    return NULL;
}

static void *try_and_end(void *data) {
    (void)data;
    pthread_barrier_wait(&together);
    open(place, O_CREAT | O_WRONLY, 0600);
    _exit(0);
}

static void *connect_once(void *data) {
    int *result = data;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    *result = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    return NULL;
}

static void run(int count, void *(*function)(void *), int *results) {
    pthread_t threads[THREADS_MAX];
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, function, results == NULL ? NULL : &results[i]);
    if (results != NULL)
        return;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static int count_of(const int *results, int count, int value) {
    int found = 0;
    for (int i = 0; i < count; i++)
        found += results[i] == value;
    return found;
}

static void connect_many(int count) {
    static int results[THREADS_MAX];
    memset(results, -1, sizeof results);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 0);
    connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
    run(count, connect_once, results);
    sleep(1);
    printf("refused: %d\nwaiting: %d\n", count_of(results, count, EAGAIN), count_of(results, count, -1));
    printf("meanwhile: %s\n", mkdir("meanwhile", 0700) == 0 ? "made" : strerror(errno));
    for (int left = count_of(results, count, -1) + 1; left > 0; left--)
        accept(listener, NULL, NULL);
    for (int i = 0; i < 200 && count_of(results, count, -1) > 0; i++)
        usleep(10000);
    printf("connected: %d\n", count_of(results, count, 0));
}

static void flood(int count, int same) {
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d", place, same ? 0 : i);
        mkdir(path, 0700);
    }
}

int main(int argc, char **argv) {
    place = argv[2];
    if (strcmp(argv[1], "refused") == 0) {
        paths = atoi(argv[4]);
        run(atoi(argv[3]), try_all, NULL);
    } else if (strcmp(argv[1], "exit") == 0) {
        run(atoi(argv[3]), try_and_end, NULL);
    } else if (strcmp(argv[1], "connects") == 0) {
        connect_many(atoi(argv[2]));
    } else {
        flood(atoi(argv[3]), argc > 4);
    }
    return 0;
}
