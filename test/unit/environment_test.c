#include "command/environment.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static void merges(const char *name, char *const *ambient, const char *const *own, const char *wanted) {
    struct strvec items = {0};
    struct strvec out = {0};
    char got[256] = "";
    for (; *own != NULL; own++)
        strvec_push(&items, *own);
    ok(env_merge(ambient, &items, &out) == 0, "%s: merged", name);
    for (size_t i = 0; i < out.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", out.items[i]);
    is_str(got, wanted, name);
    strvec_clear(&items);
    strvec_clear(&out);
}

#define OWN(...) ((const char *const[]){__VA_ARGS__, NULL})

struct row {
    const char *variable;
    bool stays;
};

static void withholds(void) {
    static char agent[] = "/nowhere/agent";
    static char bus[] = "/nowhere/bus dir/";
    static char glob[] = "/nowhere/docker*.sock";
    struct strvec allowed = {.items = (char *[]){agent, bus, glob}, .count = 3};
    static const struct row rows[] = {
        {"SSH_AUTH_SOCK=/nowhere/agent", true},
        {"SSH_AUTH_SOCK=/nowhere/agent2", false},
        {"SSH_AUTH_SOCK=nowhere/agent", false},
        {"SSH_AUTH_SOCK=", true},
        {"SSH_AUTH_SOCKET=/nowhere/x", true},
        {"SSH_AGENT_PID=7", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus%20dir/s", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/bus dir/s,guid=0a", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:guid=0a,path=/nowhere/bus%20dir/s", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1/bus", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1/bus;unix:path=/nowhere/bus%20dir/s", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/a;unix:guid=path,path=/run/b;", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:abstract=/nowhere/agent", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:runtime=yes", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=%2fnowhere%2Fagent", true},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/agent%00", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/agen%7", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/agent%", false},
        {"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere/agent%xy", false},
        {"DBUS_SESSION_BUS_ADDRESS=tcp:host=localhost,port=1", true},
        {"DBUS_SESSION_BUS_ADDRESS=", true},
        {"DOCKER_HOST=unix:///nowhere/docker-1.sock", true},
        {"DOCKER_HOST=unix:///var/run/docker.sock", false},
        {"DOCKER_HOST=unix://docker.sock", false},
        {"DOCKER_HOST=tcp://127.0.0.1:2375", true},
        {"DOCKER_HOST=ssh://root@host", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct strvec env = {0};
        struct strvec own = {0};
        strvec_push(&env, "A=1");
        strvec_push(&env, rows[i].variable);
        strvec_push(&env, "B=2");
        env_withhold_sockets(&env, &own, &allowed);
        ok(env.count == (rows[i].stays ? 3 : 2) && strcmp(env.items[env.count - 1], "B=2") == 0 &&
               env.items[env.count] == NULL,
           "%s %s", rows[i].variable, rows[i].stays ? "stays" : "is withheld");
        strvec_clear(&env);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rows[i].variable, "="), rows[i].variable);
        strvec_push(&own, rows[i].variable);
        strvec_push(&env, rows[i].variable);
        env_withhold_sockets(&env, &own, &allowed);
        ok(env.count == 1, "and stays where the run itself gives %s", name);
        strvec_clear(&env);
        strvec_clear(&own);
    }
}

/* A variable may name a socket by another path than the list does. */
static void follows_links(void) {
    char top[] = "/var/tmp/os-sandbox-environment-XXXXXX";
    char file[128];
    char link[128];
    char variable[160];
    if (mkdtemp(top) == NULL)
        return;
    snprintf(file, sizeof file, "%s/file", top);
    snprintf(link, sizeof link, "%s/link", top);
    snprintf(variable, sizeof variable, "SSH_AUTH_SOCK=%s", link);
    FILE *made = fopen(file, "we");
    if (made != NULL)
        fclose(made);
    struct strvec allowed = {.items = (char *[]){file}, .count = 1};
    struct strvec env = {0};
    struct strvec own = {0};
    ok(symlink(file, link) == 0, "there is a symlink to an allowed socket");
    strvec_push(&env, variable);
    env_withhold_sockets(&env, &own, &allowed);
    is_int((long long)env.count, 1, "a variable that names the symlink stays");
    allowed.count = 0;
    env_withhold_sockets(&env, &own, &allowed);
    is_int((long long)env.count, 0, "unless nothing is allowed");
    env_withhold_sockets(&env, &own, &allowed);
    is_int((long long)env.count, 0, "an empty environment is no problem");
    strvec_clear(&env);
    unlink(link);
    unlink(file);
    rmdir(top);
}

static bool has(const struct strvec *env, const char *variable) {
    size_t found = 0;
    for (size_t i = 0; i < env->count; i++)
        found += strcmp(env->items[i], variable) == 0;
    return found == 1;
}

static void names_proxy(void) {
    static const char url[] = "http://192.0.2.1:3128";
    struct strvec env = {0};
    struct strvec own = {0};
    strvec_push(&env, "HTTP_PROXY=http://before.example.com");
    strvec_push(&env, "HTTP_PROXYING=1");
    strvec_push(&env, "no_proxy=own.example.com");
    strvec_push(&own, "no_proxy=own.example.com");
    strvec_push(&own, "ALL_PROXY");
    ok(env_name_proxy(&env, &own, url, true) == 0, "variables that name a proxy are set");
    ok(has(&env, "HTTP_PROXY=http://192.0.2.1:3128") && has(&env, "https_proxy=http://192.0.2.1:3128") &&
           has(&env, "all_proxy=http://192.0.2.1:3128") && has(&env, "HTTP_PROXYING=1"),
       "over those that are there, in both spellings");
    ok(has(&env, "no_proxy=own.example.com") && has(&env, "NO_PROXY=localhost,127.0.0.1,::1"),
       "those that the run itself gives stay, in that spelling alone");
    is_int((long long)env.count, 8, "one that it takes away is not set, nor one that Node.js warns of");
    ok(env_name_proxy(&env, &own, url, false) == 0 && has(&env, "NODE_USE_ENV_PROXY=1") && env.count == 9 &&
           env.items[env.count] == NULL,
       "but where only clients that know of the proxy get through");
    strvec_clear(&env);
    strvec_clear(&own);
}

int main(void) {
    withholds();
    follows_links();
    names_proxy();
    static char a[] = "A=1";
    static char b[] = "AB=2";
    static char odd[] = "NOVALUE";
    char *ambient[] = {a, b, NULL};
    char *with_odd[] = {odd, NULL};
    merges("nothing of its own", ambient, OWN(NULL), "A=1 AB=2 ");
    merges("a variable of its own comes on top", ambient, OWN("A=x=y"), "AB=2 A=x=y ");
    merges("an empty value is a value", ambient, OWN("AB="), "A=1 AB= ");
    merges("a name alone takes the variable away", ambient, OWN("A"), "AB=2 ");
    merges("what is not there can be taken away", ambient, OWN("C"), "A=1 AB=2 ");
    merges("no ambient environment", NULL, OWN("A=1", "B"), "A=1 ");
    merges("an ambient entry without a value is passed on", with_odd, OWN("NO=1"), "NOVALUE NO=1 ");
    return done_testing();
}
