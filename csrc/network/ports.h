/* Which ports have listeners: those of the start, of the rules, and the usual ones. */
#ifndef OS_SANDBOX_NETWORK_PORTS_H
#define OS_SANDBOX_NETWORK_PORTS_H

#include "network/network_internal.h"

/* What there is from the beginning to the end: the explicit proxy, DNS. The files were read. */
void ports_open_first(struct network *network);

/* Resolvers on the loopback that resolv.conf names, as it was last read, and that are not open yet. */
void ports_open_resolvers(struct network *network, bool first);

/* What the rules, as they are now, want; and the port table's flags. first: ready waits for it. */
void ports_open_by_rules(struct network *network, bool first);

/* Ports of the host's loopback that rules name and that are not open, because a command had them before. */
void ports_open_local(struct network *network, bool first);

#endif
