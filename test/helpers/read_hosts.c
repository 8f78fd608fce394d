/* Reads hosts, one a line, as clients write them, and prints each as it is shown: "-" for none. */
#include <stdio.h>
#include <stdlib.h>

#include "policy/network_rules.h"

int main(void) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        struct network_target target;
        char shown[DOMAIN_NAME_MAX + 1] = "-";
        if (line[length - 1] == '\n')
            length--;
        if (network_target_parse(line, (size_t)length, 0, &target) == 0)
            network_target_host(&target, shown);
        puts(shown);
    }
    free(line);
    return 0;
}
