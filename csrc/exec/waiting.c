#include "exec/waiting.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/pending_signal.h"
#include "exec/waiting_internal.h"

/* As many calls as may wait at once: each takes a thread, and of the descriptors two or three. */
#define WAITS_MAX 256
#define DESCRIPTORS_PER_WAIT 8
/* Threads that are to be free to receive whatever waits. */
#define RECEIVERS 2
/* How soon a signal reaches a command that waits. */
#define TICK_MS 20

struct wait {
    struct wait *next;
    struct call *call;
    pthread_t thread;
    bool seen; /* by a tick: most waits are over before their first */
    atomic_bool interrupted;
};

struct waiting_calls {
    pthread_mutex_t lock;
    struct wait *waits;
    size_t wait_count;
    size_t wait_limit;
    size_t thread_count;
    int wake; /* the main thread has to tick */
    struct supervisor *supervisor;
    receiver_fn receive;
};

/* Other calls must not lack descriptors because of these. */
static size_t limit_of_waits(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / DESCRIPTORS_PER_WAIT > WAITS_MAX)
        return WAITS_MAX;
    return (size_t)files.rlim_cur / DESCRIPTORS_PER_WAIT;
}

struct waiting_calls *waiting_new(struct supervisor *supervisor, receiver_fn receive) {
    struct waiting_calls *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL)
        return NULL;
    waiting->supervisor = supervisor;
    waiting->receive = receive;
    waiting->wait_limit = limit_of_waits();
    waiting->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiting->wake < 0 || pthread_mutex_init(&waiting->lock, NULL) != 0) {
        close_fd(&waiting->wake);
        free(waiting);
        return NULL;
    }
    return waiting;
}

int waiting_wake_fd(const struct waiting_calls *waiting) {
    return waiting->wake;
}

/* Until so many are free. To be called with the lock held. */
static int add_receivers(struct waiting_calls *waiting, size_t free_count) {
    while (waiting->thread_count - waiting->wait_count < free_count) {
        pthread_t thread;
        int errnum = pthread_create(&thread, NULL, waiting->receive, waiting->supervisor);
        if (errnum != 0)
            return errnum;
        pthread_detach(thread);
        waiting->thread_count++;
    }
    return 0;
}

int waiting_start_receivers(struct waiting_calls *waiting) {
    pthread_mutex_lock(&waiting->lock);
    int errnum = add_receivers(waiting, RECEIVERS);
    pthread_mutex_unlock(&waiting->lock);
    return errnum;
}

bool waiting_receiver_is_needed(struct waiting_calls *waiting) {
    pthread_mutex_lock(&waiting->lock);
    bool needed = waiting->thread_count - waiting->wait_count <= RECEIVERS;
    if (!needed)
        waiting->thread_count--;
    pthread_mutex_unlock(&waiting->lock);
    return needed;
}

struct wait *wait_begin(struct call *call) {
    struct waiting_calls *waiting = call->supervisor->waiting;
    struct wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL)
        return NULL;
    wait->call = call;
    wait->thread = pthread_self();
    pthread_mutex_lock(&waiting->lock);
    /* Somebody must be left to receive calls: what this one waits for may depend on them. */
    bool room = waiting->wait_count < waiting->wait_limit && add_receivers(waiting, 2) == 0;
    if (room) {
        wait->next = waiting->waits;
        waiting->waits = wait;
        waiting->wait_count++;
    }
    pthread_mutex_unlock(&waiting->lock);
    if (!room) {
        free(wait);
        return NULL;
    }
    eventfd_write(waiting->wake, 1);
    return wait;
}

bool wait_interrupted(const struct wait *wait) {
    return atomic_load(&wait->interrupted);
}

struct answer wait_interrupted_answer(int socket) {
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    bool limited = getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0 &&
                   (limit.tv_sec != 0 || limit.tv_usec != 0);
    return answer_errno(limited ? EINTR : ERESTARTSYS);
}

void wait_end(struct wait *wait) {
    struct waiting_calls *waiting = wait->call->supervisor->waiting;
    pthread_mutex_lock(&waiting->lock);
    struct wait **slot = &waiting->waits;
    while (*slot != wait)
        slot = &(*slot)->next;
    *slot = wait->next;
    waiting->wait_count--;
    pthread_mutex_unlock(&waiting->lock);
    free(wait);
}

static bool is_over(const struct wait *wait) {
    uint64_t id = wait->call->id;
    return ioctl(wait->call->supervisor->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0 ||
           has_signal_to_handle(wait->call->thread);
}

int waiting_tick(struct waiting_calls *waiting) {
    eventfd_t count;
    eventfd_read(waiting->wake, &count);
    pthread_mutex_lock(&waiting->lock);
    for (struct wait *wait = waiting->waits; wait != NULL; wait = wait->next) {
        if (!wait->seen) {
            wait->seen = true;
            continue;
        }
        (void)add_receivers(waiting, RECEIVERS);
        if (!atomic_load(&wait->interrupted) && is_over(wait))
            atomic_store(&wait->interrupted, true);
        /* Again at every tick: one that comes just before the thread is in its system call is lost. */
        if (atomic_load(&wait->interrupted))
            pthread_kill(wait->thread, WAITING_SIGNAL);
    }
    bool any = waiting->waits != NULL;
    pthread_mutex_unlock(&waiting->lock);
    return any ? TICK_MS : -1;
}
