/* Exchanges two names of the current folder again and again: flip A B MICROSECONDS, a random pause up to that
 * between. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    for (;;) {
        if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) != 0)
            return 1;
        usleep((useconds_t)(rand() % atoi(argv[3])));
    }
}
