#include "exec/pending_signal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* proc_pid_status(5). Signals are sets, bit n - 1 for signal n. */
struct signals {
    pid_t process;
    char state;
    unsigned long long own;
    unsigned long long shared;
    unsigned long long blocked;
};

/* Names have their newlines escaped there (fs/proc/array.c): they make up no line. */
static const char *value_of(const char *status, const char *key) {
    const char *line = strstr(status, key);
    return line == NULL ? "" : line + strlen(key);
}

static bool read_signals(const char *path, struct signals *out) {
    char status[4096];
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, status, sizeof status - 1);
    if (size <= 0)
        return false;
    status[size] = '\0';
    *out = (struct signals){.process = (pid_t)strtol(value_of(status, "\nTgid:"), NULL, 10),
                            .state = *value_of(status, "\nState:\t"),
                            .own = strtoull(value_of(status, "\nSigPnd:"), NULL, 16),
                            .shared = strtoull(value_of(status, "\nShdPnd:"), NULL, 16),
                            .blocked = strtoull(value_of(status, "\nSigBlk:"), NULL, 16)};
    return true;
}

/* Those of the signals that this thread does not take. */
static unsigned long long left_by(const struct signals *other, unsigned long long signals) {
    bool alive = other->state != 'Z' && other->state != 'X';
    return alive ? signals & other->blocked : signals;
}

/* Those of the process's signals that no other thread takes. */
static unsigned long long left_by_all(pid_t process, pid_t thread, unsigned long long signals) {
    char path[64];
    struct signals other;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return 0;
    for (const struct dirent *entry; signals != 0 && (entry = readdir(tasks)) != NULL;) {
        pid_t number = (pid_t)strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)process, (int)number);
        if (number > 0 && number != thread && read_signals(path, &other))
            signals = left_by(&other, signals);
    }
    closedir(tasks);
    return signals;
}

/*
 * A signal for the process goes to its first thread, and where that blocks it to any that does not
 * (complete_signal() in kernel/signal.c). One that stops the process is for all: each has to stop.
 */
static bool is_called_with_others(pid_t thread, pid_t process, unsigned long long signals) {
    char path[64];
    struct signals first;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    if (!read_signals(path, &first))
        return false;
    if (first.state == 'T')
        return true;
    signals = left_by(&first, signals);
    return signals != 0 && left_by_all(process, thread, signals) != 0;
}

bool has_signal_to_handle(pid_t thread) {
    char path[64];
    struct signals own;
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    if (!read_signals(path, &own))
        return false;
    if ((own.own & ~own.blocked) != 0)
        return true;
    unsigned long long shared = own.shared & ~own.blocked;
    return own.process == thread ? shared != 0 : is_called_with_others(thread, own.process, shared);
}
