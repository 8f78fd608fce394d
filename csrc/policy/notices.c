#include "policy/notices.h"

int options_notices(const struct options *options, struct strvec *out) {
    const struct network_options *network = &options->network;
    const struct {
        bool given;
        const char *text;
    } rows[] = {
        {network->allowed_domains.count > 0,
         "network.allowedDomains: this version has no filtering proxy, all network access is denied"},
        {network->has_ask,
         "network.onAskHost: this version has no filtering proxy, nothing is asked and all is denied"},
        {network->allow_local_binding, "network.allowLocalBinding: this version opens no port on the host, "
                                       "servers are reachable inside only"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].given && strvec_push(out, rows[i].text) != 0)
            return -1;
    return 0;
}
