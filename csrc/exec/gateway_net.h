/*
 * The session's two network namespaces and the pair of devices between them: commands are in the inner one,
 * and in the other, the gateway, every address is local, so that whatever they connect to arrives there.
 */
#ifndef OS_SANDBOX_EXEC_GATEWAY_NET_H
#define OS_SANDBOX_EXEC_GATEWAY_NET_H

/* Brings up the loopback of the caller's network namespace. 0, or an errno. */
int gateway_net_loopback(void);

/*
 * Joins both namespaces (descriptors of them), in the caller's user namespace; the caller is in the inner
 * one, also afterwards. Where there is no IPv6 (ipv6.disable=1) it stays out. 0, or an errno with the failed
 * step in *step (static): the inner namespace has then no way out.
 */
int gateway_net_join(int outer, int inner, const char **step);

#endif
