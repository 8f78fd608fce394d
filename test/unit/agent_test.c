#include "base/cleanup.h"
#include "exec/agent.h"
#include "exec/gateway_wire.h"
#include "exec/passfd.h"
#include "exec/payload.h"
#include "exec/port_table.h"
#include "exec/stage.h"
#include "platform/linux/agent_client.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* This program is the agent, too, and the stage of the runs that it starts. */
static struct agent_process agent;
static struct agent_event event;
static int fds[READY_FD_COUNT];
static size_t fd_count;

static bool hear(void) {
    struct pollfd waiting = {.fd = agent.socket, .events = POLLIN};
    event = (struct agent_event){.version = 0};
    fd_count = 0;
    return poll(&waiting, 1, 20000) == 1 &&
           agent_receive(&agent, &event, fds, READY_FD_COUNT, &fd_count) == 1;
}

static const char *const session_arguments[] = {
    "--unshare-user", "--unshare-pid", "--as-pid-1", "--ro-bind", "/", "/",
    "--proc",         "/proc",         "--dev",      "/dev",      NULL};
static const char *const own_arguments[] = {
    "--unshare-user", "--unshare-pid", "--unshare-net", "--as-pid-1", "--ro-bind", "/", "/",
    "--proc",         "/proc",         "--dev",         "/dev",       NULL};

/* bwrap's arguments as the payload has them. */
static size_t join(const char *const *words, char *out) {
    size_t size = 0;
    for (; *words != NULL; words++) {
        size_t length = strlen(*words) + 1;
        memcpy(out + size, *words, length);
        size += length;
    }
    return size;
}

static int payload_of(const char *script, const char *const *arguments, bool own_proxy) {
    char shell[] = "/bin/bash";
    char option[] = "-c";
    char path[] = "PATH=/usr/bin:/bin";
    char *text = strdup(script);
    char *argv[] = {shell, option, text, NULL};
    char *envp[] = {path, NULL};
    char joined[512];
    struct payload payload = {.bwrap = "/usr/bin/bwrap",
                              .cwd = "/",
                              .argv = argv,
                              .argc = 3,
                              .envp = envp,
                              .envc = 1,
                              .file_mode_mask = 022,
                              .own_proxy = own_proxy,
                              .arguments = joined,
                              .arguments_size = join(arguments, joined)};
    size_t size;
    cleanup_free char *data = payload_encode(&payload, &size);
    int fd = memfd_create("payload", MFD_CLOEXEC);
    if (data == NULL || write(fd, data, size) != (ssize_t)size)
        abort();
    free(text);
    return fd;
}

/* Starts it with a pipe as its stdout, whose other end is returned. */
static int start(uint64_t run, const char *script, const char *const *arguments, bool own) {
    int out[2];
    if (pipe(out) != 0)
        abort();
    cleanup_fd int payload = payload_of(script, arguments, own);
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int given[START_FD_COUNT] = {payload, null, out[1], null, null};
    struct agent_request request = {
        .version = WIRE_VERSION, .type = AGENT_START, .run = run, .flags = own ? 0 : START_SESSION};
    is_int(agent_send(&agent, &request, given), 0, "a run is started");
    close(out[1]);
    return out[0];
}

/* What it wrote, with its spaces as they are. */
static const char *all_of(int fd) {
    static char text[4096];
    size_t size = 0;
    ssize_t got;
    while ((got = read(fd, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    close(fd);
    return text;
}

static void ended(uint64_t run) {
    ok(hear() && event.type == AGENT_ENDED && event.run == run, "a run's end is heard of");
    is_str(event.text, "", "and that nothing failed");
    is_int(event.status, 0, "nor the command");
}

static int ready_fds[READY_FD_COUNT];

static void readiness(void) {
    struct error err = {0};
    is_int(agent_spawn("/proc/self/exe", false, &agent, &err), 0, "an agent starts");
    ok(hear() && event.type == AGENT_READY, "and says that it is ready");
    is_str(event.text, "", "and that nothing is missing");
    is_int(event.flags, READY_NETWORK | READY_GATEWAY | READY_MOUNT_PLAN, "neither network nor mounts");
    is_int((long long)fd_count, READY_FD_COUNT, "three descriptors come along");
    memcpy(ready_fds, fds, sizeof ready_fds);
    struct port_table *ports = port_table_map(ready_fds[READY_FD_PORTS]);
    ok(ports != NULL, "one of them is the port table");
    port_table_unmap(ports);
    char unused;
    ok(recv(ready_fds[READY_FD_QUESTIONS], &unused, 1, 0) < 0 && errno == EAGAIN, "one does not block");
}

static int ask_gateway(const struct gateway_request *request) {
    struct gateway_reply reply = {.version = 0};
    struct pollfd waiting = {.fd = ready_fds[READY_FD_GATEWAY], .events = POLLIN};
    int made = -1;
    size_t count;
    if (send_with_fds(waiting.fd, request, sizeof *request, NULL, 0) != 0 || poll(&waiting, 1, 5000) != 1 ||
        receive_with_fds(waiting.fd, &reply, sizeof reply, &made, 1, &count) != (ssize_t)sizeof reply)
        return -1;
    return reply.errnum == 0 && count == 1 ? made : -1;
}

static void session_network(void) {
    const struct sockaddr_in everywhere = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct gateway_request request = {.version = GATEWAY_VERSION,
                                      .type = GATEWAY_SOCKET,
                                      .place = GATEWAY_OUTER,
                                      .domain = AF_INET,
                                      .kind = SOCK_STREAM,
                                      .backlog = 5,
                                      .address_length = sizeof everywhere};
    memcpy(&request.address, &everywhere, sizeof everywhere);
    int listener = ask_gateway(&request);
    ok(listener >= 0, "the gateway process makes a listener");
    int out = start(1, "exec 3<>/dev/tcp/198.51.100.34/80 && read -r line <&3 && echo \"$line\"",
                    session_arguments, false);
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    int accepted = poll(&waiting, 1, 10000) == 1 ? accept(listener, NULL, NULL) : -1;
    struct sockaddr_in local = {0};
    socklen_t size = sizeof local;
    getsockname(accepted, (struct sockaddr *)&local, &size);
    is_str(inet_ntoa(local.sin_addr), "198.51.100.34", "where a command's connection arrives");
    is_int(write(accepted, "hello\n", 6), 6, "an answer is written");
    is_str(all_of(out), "hello\n", "and reaches the command");
    ended(1);
    close(accepted);
    close(listener);
}

/* A command must have nothing of what joins agent, gateway and addon. */
static void nothing_is_left_open(void) {
    int out = start(2, "cd /proc/self/fd && echo *", session_arguments, false);
    is_str(all_of(out), "0 1 2 3\n", "a command has its stdio, and bash the folder that it reads");
    ended(2);
}

static void own_network(void) {
    int out = start(3, "exec 3<>/dev/tcp/127.0.0.1/3128 && read -r line <&3 && echo \"$line\"", own_arguments,
                    true);
    ok(hear() && event.type == AGENT_LISTENER && event.run == 3,
       "a run of its own network brings a listener");
    is_int((long long)fd_count, 1, "which comes along");
    int listener = fd_count == 1 ? fds[0] : -1;
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    int accepted = poll(&waiting, 1, 10000) == 1 ? accept(listener, NULL, NULL) : -1;
    ok(accepted >= 0, "where the command's connections arrive");
    is_int(write(accepted, "hello\n", 6), 6, "an answer is written");
    is_str(all_of(out), "hello\n", "and reaches the command");
    ended(3);
    close(accepted);
    close(listener);
}

/* The agent's first child; a bwrap that is not reaped yet may follow. Never 0: that is everybody to kill(2).
 */
static pid_t gateway_process(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)agent.pid, (int)agent.pid);
    FILE *children = fopen(path, "re");
    int pid = 0;
    bool found = children != NULL && fscanf(children, "%d", &pid) == 1 && pid > 1;
    if (children != NULL)
        fclose(children);
    if (!found)
        abort();
    return pid;
}

static bool soon_gone(pid_t pid) {
    for (int i = 0; i < 500; i++) {
        if (kill(pid, 0) != 0)
            return true;
        usleep(10000);
    }
    return false;
}

static void without_gateway(void) {
    pid_t gateway = gateway_process();
    kill(gateway, SIGKILL);
    ok(soon_gone(gateway), "a gateway process that was killed is reaped");
    char unused;
    is_int(recv(ready_fds[READY_FD_GATEWAY], &unused, 1, 0), 0, "the addon sees its end");
    int out =
        start(4, "(echo > /dev/tcp/198.51.100.34/80) 2>/dev/null || echo refused", session_arguments, false);
    is_str(all_of(out), "refused\n", "later runs go on, and reach nothing");
    ended(4);
}

static void end_agent(void) {
    struct pollfd waiting = {.fd = agent.pidfd, .events = POLLIN};
    close(agent.socket);
    ok(poll(&waiting, 1, 15000) == 1 && agent_reap(&agent), "the agent ends with its socket");
    close(agent.pidfd);
    for (int i = 0; i < READY_FD_COUNT; i++)
        close(ready_fds[i]);
}

int main(int argc, char **argv) {
    if (argc == 2)
        return strcmp(argv[1], "agent") == 0 ? agent_main(false) : stage_main(false);
    readiness();
    session_network();
    nothing_is_left_open();
    own_network();
    without_gateway();
    end_agent();
    readiness();
    pid_t gateway = gateway_process();
    end_agent();
    ok(kill(gateway, 0) != 0, "and the gateway process with it");
    readiness();
    gateway = gateway_process();
    if (agent.pid <= 1)
        abort();
    kill(agent.pid, SIGKILL);
    ok(soon_gone(gateway),
       "the gateway process ends with an agent that was killed, though its socket is open");
    end_agent();
    return done_testing();
}
