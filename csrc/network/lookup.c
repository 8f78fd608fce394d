#include "network/lookup.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "network/list.h"

struct lookups {
    pthread_mutex_t lock; /* guards all of this, and each job */
    unsigned users;       /* who made it, threads and look-ups */
    unsigned threads;
    struct link waiting; /* jobs that no thread has taken, oldest first */
};

/* The thread's half of a look-up. */
struct job {
    struct link link;
    struct lookup *lookup; /* NULL: nobody wants it any more, the thread frees it */
    bool done;
    int status;
    struct addrinfo *found;
    char name[];
};

/* The loop's half. */
struct lookup {
    uv_async_t answer;
    struct lookups *all;
    struct job *job; /* NULL: it was answered, or cancelled */
    struct lookup_hooks hooks;
};

struct lookups *lookups_new(void) {
    struct lookups *all = calloc(1, sizeof *all);
    if (all == NULL || pthread_mutex_init(&all->lock, NULL) != 0) {
        free(all);
        return NULL;
    }
    all->users = 1;
    link_head(&all->waiting);
    return all;
}

/* With the lock, which is gone after it. */
static void unlock_and_leave(struct lookups *all) {
    bool last = --all->users == 0;
    pthread_mutex_unlock(&all->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}

void lookups_release(struct lookups *all) {
    if (all == NULL)
        return;
    pthread_mutex_lock(&all->lock);
    unlock_and_leave(all);
}

static void free_job(struct job *job) {
    if (job->found != NULL)
        freeaddrinfo(job->found);
    free(job);
}

/* With the lock. */
static void finish_job(struct job *job) {
    job->done = true;
    if (job->lookup == NULL)
        free_job(job);
    else
        uv_async_send(&job->lookup->answer);
}

static void *work(void *data) {
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct lookups *all = data;
    pthread_mutex_lock(&all->lock);
    for (struct link *at; (at = link_take(&all->waiting)) != NULL;) {
        struct job *job = LINK_OWNER(at, struct job, link);
        pthread_mutex_unlock(&all->lock);
        job->status = getaddrinfo(job->name, NULL, &hints, &job->found);
        pthread_mutex_lock(&all->lock);
        finish_job(job);
    }
    all->threads--;
    unlock_and_leave(all);
    return NULL;
}

/* With the lock. False: there is none, nor can one be made. Signals are the host program's threads'. */
static bool have_thread(struct lookups *all) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t every;
    sigset_t before;
    if (all->threads >= LOOKUP_THREADS_MAX)
        return true;
    if (pthread_attr_init(&attributes) != 0)
        return all->threads > 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    if (pthread_create(&thread, &attributes, work, all) == 0) {
        all->threads++;
        all->users++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return all->threads > 0;
}

static void on_closed(uv_handle_t *handle) {
    struct lookup *lookup = handle->data;
    struct lookup_hooks hooks = lookup->hooks;
    pthread_mutex_lock(&lookup->all->lock);
    unlock_and_leave(lookup->all);
    free(lookup);
    hooks.gone(hooks.data);
}

/* A job that is done, which is the caller's from now on; else NULL. */
static struct job *take_done(struct lookup *lookup) {
    pthread_mutex_lock(&lookup->all->lock);
    struct job *job = lookup->job;
    if (job != NULL && !job->done)
        job = NULL;
    if (job != NULL)
        lookup->job = NULL;
    pthread_mutex_unlock(&lookup->all->lock);
    return job;
}

static void on_answer(uv_async_t *async) {
    struct lookup *lookup = async->data;
    struct job *job = take_done(lookup);
    if (job == NULL)
        return;
    uv_close((uv_handle_t *)async, on_closed);
    lookup->hooks.answered(lookup->hooks.data, job->status, job->found);
    free_job(job);
}

static bool begin(struct lookup *lookup, struct job *job) {
    struct lookups *all = lookup->all;
    pthread_mutex_lock(&all->lock);
    link_add(&all->waiting, &job->link);
    bool begun = have_thread(all);
    if (begun)
        all->users++;
    else
        link_remove(&job->link);
    pthread_mutex_unlock(&all->lock);
    return begun;
}

static void on_unbegun_closed(uv_handle_t *handle) {
    free(handle->data);
}

struct lookup *lookup_start(struct lookups *all, uv_loop_t *loop, const char *name,
                            const struct lookup_hooks *hooks) {
    size_t size = strlen(name) + 1;
    struct lookup *lookup = calloc(1, sizeof *lookup);
    struct job *job = calloc(1, sizeof *job + size);
    if (lookup == NULL || job == NULL || uv_async_init(loop, &lookup->answer, on_answer) != 0) {
        free(lookup);
        free(job);
        return NULL;
    }
    uv_unref((uv_handle_t *)&lookup->answer);
    lookup->answer.data = lookup;
    lookup->all = all;
    lookup->job = job;
    lookup->hooks = *hooks;
    job->lookup = lookup;
    memcpy(job->name, name, size);
    if (begin(lookup, job))
        return lookup;
    free(job);
    uv_close((uv_handle_t *)&lookup->answer, on_unbegun_closed);
    return NULL;
}

void lookup_cancel(struct lookup *lookup) {
    struct job *job = lookup->job;
    lookup->job = NULL;
    pthread_mutex_lock(&lookup->all->lock);
    bool is_ours = job->done || link_is_in_list(&job->link);
    link_remove(&job->link);
    job->lookup = NULL;
    pthread_mutex_unlock(&lookup->all->lock);
    if (is_ours)
        free_job(job);
    uv_close((uv_handle_t *)&lookup->answer, on_closed);
}
