/* The exec helper: one small executable, two roles, chosen by its first word; a second
 * one makes it a command line's. Not for use by hand. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "exec/agent.h"
#include "exec/stage.h"

int main(int argc, char **argv) {
    bool foreground = argc == 3 && strcmp(argv[2], "foreground") == 0;
    if ((argc == 2 || foreground) && strcmp(argv[1], "agent") == 0)
        return agent_main(foreground);
    if ((argc == 2 || foreground) && strcmp(argv[1], "stage") == 0)
        return stage_main(foreground);
    fprintf(stderr, "os-sandbox-exec is started by the operon-os-sandbox package\n");
    return 64;
}
