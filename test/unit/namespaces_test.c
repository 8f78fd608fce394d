#include "gateway_session.h"

#include <fcntl.h>
#include <sched.h>

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written;
}

/* As the root of a user namespace in which there can be no more than so many network namespaces. */
static bool limit_networks(const char *count) {
    char map[32];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    bool mapped = write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    return mapped && write_text("/proc/self/gid_map", map) &&
           write_text("/proc/sys/user/max_net_namespaces", count);
}

/* Without the gateway's network: what is asked for inside can be had all the same. */
static void without_outer(void) {
    char text[128] = "";
    if (!ok(limit_networks("1"), "there can be one network namespace"))
        return;
    is_int(session_namespaces_make(&session, ports, text, sizeof text), 0, "a session is content with that");
    is_str(text, "making a network namespace: No space left on device", "says what it has not");
    ok(!session.transparent && session.gateway > 1, "and has a gateway process");
    client = gateway_client_new(uv_default_loop(), session.gateway_socket);
    session.gateway_socket = -1;
    is_int(ask(gateway_listener_everywhere(80)), -ENODEV, "which listens nowhere outside");
    int listener = ask(gateway_listener_loopback(AF_INET, GATEWAY_PROXY_PORT));
    arrives(listener, "127.0.0.1", GATEWAY_PROXY_PORT);
    is_int(inside(connects, "198.51.100.34", 80), ENETUNREACH, "and no way leads there");
    close(listener);
    bool closed = false;
    gateway_client_close(client, on_closed, &closed);
    await(&closed);
    session_namespaces_close(&session);
}

static void without_any(void) {
    char text[128] = "";
    if (!ok(limit_networks("0"), "there can be no network namespace"))
        return;
    is_int(session_namespaces_make(&session, ports, text, sizeof text), ENOSPC, "nor a session's");
    is_str(text, "making a user and a network namespace", "which names the step");
    ok(session.gateway == 0 && session.gateway_socket == -1 && session.user == -1, "and leaves nothing");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and no child");
}

int main(void) {
    int fd = port_table_make();
    ports = port_table_map(fd);
    close(fd);
    without_outer();
    without_any();
    port_table_unmap(ports);
    uv_loop_close(uv_default_loop());
    return done_testing();
}
