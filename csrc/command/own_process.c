#include "command/own_process.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

void own_process_die(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    const struct rlimit none = {0};
    sigset_t only;
    setrlimit(RLIMIT_CORE, &none);
    sigemptyset(&only);
    if (sigaddset(&only, number) != 0 || sigaction(number, &action, NULL) != 0)
        return;
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}

/* tty_ioctl(4): who is in the background may change a terminal while SIGTTOU is blocked. */
static void block_ttou(sigset_t *before) {
    sigset_t ttou;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &ttou, before);
}

bool taken_terminal_take(int fd, struct taken_terminal *out) {
    sigset_t before;
    *out = (struct taken_terminal){.fd = fd, .group = tcgetpgrp(fd)};
    if (out->group < 0 || tcgetsid(fd) != getsid(0) || tcgetattr(fd, &out->modes) != 0)
        return false;
    struct termios cooked = out->modes;
    cooked.c_iflag |= ICRNL | IXON;
    cooked.c_oflag |= OPOST | ONLCR;
    cooked.c_lflag |= ISIG | ICANON | ECHO | ECHOE | ECHOK | IEXTEN;
    block_ttou(&before);
    bool taken = (out->group == getpgrp() || tcsetpgrp(fd, getpgrp()) == 0);
    if (taken)
        tcsetattr(fd, TCSANOW, &cooked);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return taken;
}

void taken_terminal_give(const struct taken_terminal *taken) {
    sigset_t before;
    block_ttou(&before);
    tcsetattr(taken->fd, TCSANOW, &taken->modes);
    /* Only what was taken is put back: somebody else may have the terminal by now. */
    if (taken->group != getpgrp() && tcgetpgrp(taken->fd) == getpgrp())
        tcsetpgrp(taken->fd, taken->group);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
