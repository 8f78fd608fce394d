#include "base/path.h"
#include "plan/mount_plan.h"
#include "tap.h"

#include <stdlib.h>

#define MAX_RULES 32

/* Rules as text: "+path" grant, "-path" denyWrite, "!path" denyRead, "!path/" with a slash at the end a
 * directory. */
static void plan_of(const char *const *texts, struct mount_plan *plan) {
    static struct fs_rule items[MAX_RULES];
    static char paths[MAX_RULES][128];
    struct fs_rules rules = {.items = items};
    for (; texts[rules.count] != NULL; rules.count++) {
        const char *text = texts[rules.count];
        char *path = paths[rules.count];
        snprintf(path, sizeof paths[0], "%s", text + 1);
        size_t length = strlen(path);
        bool slash = length > 1 && path[length - 1] == '/';
        if (slash)
            path[length - 1] = '\0';
        items[rules.count] = (struct fs_rule){.kind = text[0] == '+'   ? FS_ALLOW_WRITE
                                                      : text[0] == '-' ? FS_DENY_WRITE
                                                                       : FS_DENY_READ,
                                              .path = path,
                                              .device = 7,
                                              .inode = rules.count + 1,
                                              .directory = slash};
    }
    struct error err = {0};
    if (mount_plan_build(&rules, plan, &err) != 0)
        ok(false, "the plan is built: %s", err.text);
}

static const char *const letters[] = {[MOUNT_WRITABLE] = "rw",
                                      [MOUNT_READ_ONLY] = "ro",
                                      [MOUNT_MASK_DIR] = "dir",
                                      [MOUNT_MASK_FILE] = "file",
                                      [MOUNT_PIN] = "pin"};

static void plans(const char *name, const char *wanted, const char *const *texts) {
    struct mount_plan plan;
    char got[2048] = "";
    plan_of(texts, &plan);
    for (size_t i = 0; i < plan.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s %s", i == 0 ? "" : ", ",
                 letters[plan.items[i].kind], plan.items[i].path);
    is_str(got, wanted, name);
    mount_plan_clear(&plan);
}

#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What a path may be, by the plan: the innermost mount above it decides. */
static enum mount_kind kind_at(const struct mount_plan *plan, const char *path) {
    enum mount_kind kind = plan->root_writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY;
    for (size_t i = 0; i < plan->count; i++)
        if (path_is_within(path, plan->items[i].path))
            kind = plan->items[i].kind == MOUNT_PIN ? MOUNT_WRITABLE : plan->items[i].kind;
    return kind;
}

/* What it should be, by the rules alone. */
static bool agrees(const char *const *texts, const char *path, enum mount_kind kind) {
    bool grant = false;
    bool deny_write = false;
    bool deny_read = false;
    for (size_t i = 0; texts[i] != NULL; i++) {
        if (!path_is_within(path, texts[i] + 1))
            continue;
        grant |= texts[i][0] == '+';
        deny_write |= texts[i][0] == '-';
        deny_read |= texts[i][0] == '!';
    }
    if (deny_read)
        return kind == MOUNT_MASK_DIR || kind == MOUNT_MASK_FILE;
    return (kind == MOUNT_WRITABLE) == (grant && !deny_write) && kind != MOUNT_MASK_DIR &&
           kind != MOUNT_MASK_FILE;
}

/* Random rules over a small tree: every path of it is what the rules say, and nothing is mounted twice. */
static void holds_for_random_rules(unsigned rounds) {
    static const char *const names[] = {"a", "b", "a-"};
    unsigned seed = 1;
    unsigned wrong = 0;
    for (unsigned round = 0; round < rounds; round++) {
        char texts[8][32];
        const char *rules[9] = {NULL};
        size_t count = 1 + (unsigned)rand_r(&seed) % 8;
        for (size_t i = 0; i < count; i++) {
            size_t at = (size_t)snprintf(texts[i], sizeof texts[i], "%c", "+-!"[rand_r(&seed) % 3]);
            for (int depth = 1 + rand_r(&seed) % 3; depth > 0; depth--)
                at += (size_t)snprintf(texts[i] + at, sizeof texts[i] - at, "/%s", names[rand_r(&seed) % 3]);
            rules[i] = texts[i];
        }
        struct mount_plan plan;
        plan_of(rules, &plan);
        for (unsigned path = 0; path < 27; path++) {
            char name[32];
            snprintf(name, sizeof name, "/%s/%s/%s", names[path / 9], names[path / 3 % 3], names[path % 3]);
            wrong += !agrees(rules, name, kind_at(&plan, name));
        }
        for (size_t i = 0; i < plan.count; i++)
            for (size_t j = i + 1; j < plan.count; j++)
                wrong += strcmp(plan.items[i].path, plan.items[j].path) == 0;
        mount_plan_clear(&plan);
    }
    is_int(wrong, 0, "random rules: every path is what the rules say, no path is mounted twice");
}

int main(void) {
    plans("no rules make no mounts", "", RULES(NULL));
    plans("a write root is one mount", "rw /w", RULES("+/w"));
    plans("a write root inside another makes none", "rw /w", RULES("+/w/x", "+/w", "+/w"));
    plans("a sibling whose name begins alike is its own", "rw /w, rw /w-2", RULES("+/w-2", "+/w"));
    plans("denyWrite outside every root makes no mount", "rw /w", RULES("+/w", "-/etc"));
    plans("denyWrite inside a root is read-only", "rw /w, ro /w/d", RULES("-/w/d", "+/w"));
    plans("denyWrite beats a grant below it", "rw /w, ro /w/d", RULES("+/w", "-/w/d", "+/w/d/x"));
    plans("denyWrite beats a grant of the same path", "", RULES("+/w", "-/w"));
    plans("denyRead masks a directory", "dir /s", RULES("!/s/"));
    plans("denyRead masks a file", "file /s", RULES("!/s"));
    plans("denyRead inside denyRead makes no second mask", "dir /s",
          RULES("!/s/", "!/s/x", "-/s/y", "+/s/z"));
    plans("denyRead of a whole root hides it", "dir /w", RULES("+/w/", "!/w/"));
    plans("every directory between a root and a denial is pinned", "rw /w, pin /w/a, pin /w/a/b, ro /w/a/b/c",
          RULES("+/w", "-/w/a/b/c"));
    plans("a pin serves several denials", "rw /w, pin /w/a, ro /w/a/b, file /w/a/c",
          RULES("+/w", "-/w/a/b", "!/w/a/c"));
    plans("inside a denial nothing is pinned", "rw /w, ro /w/a, file /w/a/b/c",
          RULES("+/w", "-/w/a", "!/w/a/b/c"));
    plans("a nested root is pinned as a directory, not bound again", "rw /w, pin /w/x, ro /w/x/d",
          RULES("+/w", "+/w/x", "-/w/x/d"));
    plans("/dev and /proc are the sandbox's own", "rw /w", RULES("+/w", "+/dev/shm", "!/proc/1", "+/dev"));

    struct mount_plan plan;
    plan_of(RULES("+/", "-/sys"), &plan);
    ok(plan.root_writable && plan.count == 1 && plan.items[0].kind == MOUNT_READ_ONLY,
       "a root of / leaves /sys closed");
    mount_plan_clear(&plan);
    plans("below a root of / everything above a denial is pinned", "pin /home, pin /home/u, dir /home/u/.ssh",
          RULES("+/", "!/home/u/.ssh/"));

    plan_of(RULES("+/w", "!/w/s"), &plan);
    ok(plan.items[0].device == 7 && plan.items[0].inode == 1,
       "a mount carries the identity of the rule's file");
    mount_plan_clear(&plan);
    holds_for_random_rules(20000);
    return done_testing();
}
