/* The exec helper: one small executable, two roles, chosen by its first word. Not for use by hand. */
#include <stdio.h>
#include <string.h>

#include "exec/agent.h"
#include "exec/stage.h"

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "agent") == 0)
        return agent_main();
    if (argc == 2 && strcmp(argv[1], "stage") == 0)
        return stage_main();
    fprintf(stderr, "os-sandbox-exec is started by the operon-os-sandbox package\n");
    return 64;
}
