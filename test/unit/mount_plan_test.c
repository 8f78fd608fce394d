#include "base/path.h"
#include "plan/mount_plan.h"
#include "tap.h"

#include <stdlib.h>

#define MAX_RULES 32

/* The first character of a rule as text; the last one is of a symlink, below which nothing is. */
static const struct {
    char sign;
    enum fs_rule_kind kind;
    enum fs_rule_origin origin;
} signs[] = {
    {'+', FS_ALLOW_WRITE, FS_ASKED},  {'-', FS_DENY_WRITE, FS_ASKED},  {'!', FS_DENY_READ, FS_ASKED},
    {'?', FS_ALLOW_READ, FS_ASKED},   {'~', FS_DENY_READ, FS_DEFAULT}, {'#', FS_DENY_READ, FS_STRICT},
    {'=', FS_ALLOW_READ, FS_STRICT},  {'t', FS_PRIVATE_TMP, FS_ASKED}, {'.', FS_SHOW_FOLDER, FS_ASKED},
    {'c', FS_PRIVATE_COPY, FS_ASKED}, {'>', FS_SHOW_LINK, FS_ASKED},
};

/* A path with a slash at the end is a directory. What it gives holds until the next call. */
static struct fs_rules rules_of(const char *const *texts) {
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
        size_t sign = 0;
        while (signs[sign].sign != text[0])
            sign++;
        items[rules.count] = (struct fs_rule){.kind = signs[sign].kind,
                                              .origin = signs[sign].origin,
                                              .path = path,
                                              .device = 7,
                                              .inode = rules.count + 1,
                                              .directory = slash};
    }
    return rules;
}

static void plan_of(const char *const *texts, struct mount_plan *plan) {
    const struct fs_rules rules = rules_of(texts);
    struct error err = {0};
    if (mount_plan_build(&rules, plan, &err) != 0)
        ok(false, "the plan is built: %s", err.text);
}

static const char *const letters[] = {
    [MOUNT_WRITABLE] = "rw",      [MOUNT_READ_ONLY] = "ro",     [MOUNT_MASK_DIR] = "dir",
    [MOUNT_MASK_FILE] = "file",   [MOUNT_MASK_HOLES] = "holes", [MOUNT_PIN] = "pin",
    [MOUNT_LINK] = "link",        [MOUNT_FOLDER] = "folder",    [MOUNT_PRIVATE_TMP] = "tmp",
    [MOUNT_PRIVATE_COPY] = "copy"};

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
        if (plan->items[i].kind != MOUNT_FOLDER && path_is_within(path, plan->items[i].path))
            kind = plan->items[i].kind == MOUNT_PIN ? MOUNT_WRITABLE : plan->items[i].kind;
    return kind;
}

static bool has_rule(const char *const *texts, char sign, const char *path, size_t length) {
    for (size_t i = 0; texts[i] != NULL; i++)
        if (texts[i][0] == sign && strncmp(texts[i] + 1, path, length) == 0 &&
            strcmp(texts[i] + 1 + length, "/") == 0)
            return true;
    return false;
}

/* What it should be, by the rules alone: from the root to the path, each folder's rules after those above it.
 */
static bool agrees(const char *const *texts, const char *path, enum mount_kind kind) {
    bool grant = false;
    bool deny_write = false;
    char closed = 0; /* by whom: 's' strictly, 'p' by what is private, else 'd' */
    for (size_t end = 1; end <= strlen(path); end++) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        bool granted = has_rule(texts, '+', path, end);
        bool denied = has_rule(texts, '!', path, end);
        bool credential = has_rule(texts, '~', path, end);
        bool asked = has_rule(texts, '?', path, end);
        bool private = has_rule(texts, 't', path, end) || has_rule(texts, 'c', path, end);
        grant |= granted;
        deny_write |= has_rule(texts, '-', path, end);
        /* Below what is private a denial has nothing to deny. */
        char shut = closed == 'p' ? 'p' : 'd';
        if (private && !denied && !credential && (closed != 'd' || asked)) {
            closed = 'p';
            continue;
        }
        if (closed == 0 && has_rule(texts, '#', path, end))
            closed = 's';
        if ((closed == 's' || closed == 'p') && has_rule(texts, '=', path, end))
            closed = 0;
        if (closed == 'p' && granted)
            closed = 0;
        if (credential)
            closed = shut;
        if (asked)
            closed = 0;
        if (denied)
            closed = shut;
    }
    if ((closed == 'p') != mount_kind_is_private(kind))
        return false;
    bool masked = kind == MOUNT_MASK_DIR || kind == MOUNT_MASK_FILE || kind == MOUNT_MASK_HOLES ||
                  mount_kind_is_private(kind);
    return masked == (closed != 0) && (kind == MOUNT_WRITABLE) == (grant && !deny_write && closed == 0);
}

/* Whether a question about the path is answered as the plan has it, by rules that are about it. */
static bool is_judged(const struct fs_rules *rules, const char *path, enum mount_kind kind) {
    struct mount_verdict verdict;
    struct error err = {0};
    if (mount_plan_judge(rules, path, &verdict, &err) != 0)
        return false;
    const struct fs_rule *reader = verdict.read_by;
    const struct fs_rule *writer = verdict.write_by;
    if ((reader != NULL && !path_is_within(path, reader->path)) ||
        (writer != NULL && !path_is_within(path, writer->path)))
        return false;
    if (!verdict.readable && !verdict.own && (reader == NULL || reader->kind != FS_DENY_READ))
        return false;
    if (verdict.writable && (writer == NULL || writer->kind != FS_ALLOW_WRITE))
        return false;
    return verdict.readable == (kind == MOUNT_WRITABLE || kind == MOUNT_READ_ONLY) &&
           verdict.writable == (kind == MOUNT_WRITABLE) && verdict.own == mount_kind_is_private(kind);
}

/* Whether it is passed through where it is to be, and only there. */
static bool has_right_masks(const char *const *texts, const struct mount_plan *plan) {
    for (size_t i = 0; i < plan->count; i++) {
        enum mount_kind kind = plan->items[i].kind;
        bool entered = has_rule(texts, '.', plan->items[i].path, strlen(plan->items[i].path));
        bool holes = false;
        for (size_t j = i + 1; j < plan->count; j++)
            holes |= path_is_within(plan->items[j].path, plan->items[i].path);
        if ((kind == MOUNT_MASK_HOLES && !holes && !entered) || (kind == MOUNT_MASK_DIR && holes))
            return false;
    }
    return true;
}

/* Random rules over a small tree: every path of it is what the rules say, and nothing is mounted twice. */
static void holds_for_random_rules(unsigned rounds) {
    static const char *const names[] = {"a", "b", "a-"};
    unsigned seed = 1;
    unsigned wrong = 0;
    unsigned misjudged = 0;
    for (unsigned round = 0; round < rounds; round++) {
        char texts[10][32];
        const char *rules[11] = {NULL};
        size_t count = 1 + (unsigned)rand_r(&seed) % 10;
        for (size_t i = 0; i < count; i++) {
            char sign = signs[(unsigned)rand_r(&seed) % (sizeof signs / sizeof signs[0] - 1)].sign;
            size_t at = (size_t)snprintf(texts[i], sizeof texts[i], "%c", sign);
            for (int depth = 1 + rand_r(&seed) % 3; depth > 0; depth--)
                at += (size_t)snprintf(texts[i] + at, sizeof texts[i] - at, "/%s", names[rand_r(&seed) % 3]);
            snprintf(texts[i] + at, sizeof texts[i] - at, "/");
            rules[i] = texts[i];
        }
        struct mount_plan plan;
        plan_of(rules, &plan);
        const struct fs_rules resolved = rules_of(rules);
        for (unsigned path = 0; path < 27; path++) {
            char name[32];
            snprintf(name, sizeof name, "/%s/%s/%s", names[path / 9], names[path / 3 % 3], names[path % 3]);
            enum mount_kind kind = kind_at(&plan, name);
            wrong += !agrees(rules, name, kind);
            misjudged += path % 4 == round % 4 && !is_judged(&resolved, name, kind);
            wrong += mount_plan_shows(&plan, name) != (kind == MOUNT_WRITABLE || kind == MOUNT_READ_ONLY);
        }
        for (size_t i = 0; i < plan.count; i++)
            for (size_t j = i + 1; j < plan.count; j++)
                wrong += strcmp(plan.items[i].path, plan.items[j].path) == 0;
        wrong += !has_right_masks(rules, &plan);
        mount_plan_clear(&plan);
    }
    is_int(wrong, 0, "random rules: every path is what the rules say, no path is mounted twice");
    is_int(misjudged, 0, "and a question is answered as the plan has it, by the rule that decides");
}

static void reading(void) {
    plans("allowRead where nothing is closed makes no mount", "rw /w", RULES("+/w", "?/s/", "?/w/x"));
    plans("allowRead opens a folder in a closed one", "holes /s, ro /s/x", RULES("!/s/", "?/s/x"));
    plans("and a denial in that closes again", "holes /s, ro /s/x, file /s/x/y",
          RULES("!/s/", "?/s/x/", "!/s/x/y"));
    plans("and so on", "holes /s, ro /s/x, holes /s/x/y, ro /s/x/y/z",
          RULES("!/s/", "?/s/x/", "!/s/x/y/", "?/s/x/y/z"));
    plans("on one path denyRead beats allowRead", "dir /s", RULES("!/s/", "?/s/"));
    plans("and allowRead beats the defaults", "", RULES("~/s/", "?/s/"));
    plans("credentials have holes", "holes /h/.ssh, ro /h/.ssh/known_hosts",
          RULES("~/h/.ssh/", "?/h/.ssh/known_hosts"));
    plans("allowRead above a denial does not lift it", "dir /h/.ssh", RULES("~/h/.ssh/", "?/h/"));
    plans("a link in a closed folder is shown", "holes /s, link /s/x/l", RULES("!/s/", ">/s/x/l", "?/t"));
    plans("with what it leads to", "holes /s, link /s/l, ro /s/t", RULES("!/s/", ">/s/l", "?/s/t"));
    plans("and in an open one there is nothing to do", "rw /w, dir /w/s",
          RULES("+/w", ">/w/l", "?/w/t", "!/w/s/"));
    plans("what is a link no more is denied as before", "dir /s", RULES("!/s/", ">/s"));
    plans("a closed folder between does not count", "holes /s, ro /s/a/b",
          RULES("!/s/", "!/s/a/", "?/s/a/b"));
    plans("a write root in a closed folder stays closed", "dir /h", RULES("!/h/", "+/h/w/"));
    plans("what is open again in a write root is writable", "rw /w, holes /w/s, rw /w/s/x",
          RULES("+/w/", "!/w/s/", "?/w/s/x"));
    plans("unless it is write-denied", "rw /w, holes /w/s, ro /w/s/x",
          RULES("+/w/", "!/w/s/", "?/w/s/x", "-/w/s/x"));
    plans("a root that is open again in a closed folder is writable", "holes /h, rw /h/w, dir /h/w/s",
          RULES("!/h/", "+/h/w/", "?/h/w/", "!/h/w/s/"));
    plans("above a denial in a hole everything is pinned", "holes /h, rw /h/w, pin /h/w/a, file /h/w/a/s",
          RULES("!/h/", "+/h/w/", "?/h/w/", "!/h/w/a/s"));
    plans("strictly everything is closed but what is named",
          "dir /etc, holes /home, rw /home/u/w, holes /usr, ro /usr/bin, ro /usr/lib",
          RULES("#/usr/", "#/etc/", "#/home/", "=/usr/bin/", "=/usr/lib/", "+/home/u/w/", "=/home/u/w/"));
    plans("a root that is a whole closed entry is no hole", "rw /tmp", RULES("#/tmp/", "+/tmp/", "=/tmp/"));
    plans("what is open by default lifts no denyRead", "dir /usr", RULES("#/usr/", "!/usr/", "=/usr/bin/"));
    plans("nor credentials", "holes /h, ro /h/n, dir /h/n/.aws",
          RULES("#/h/", "=/h/n/", "~/h/n/.aws/", "=/h/n/.aws/x"));
    plans("but allowRead does", "holes /h, ro /h/n, holes /h/n/.aws, ro /h/n/.aws/x",
          RULES("#/h/", "=/h/n/", "~/h/n/.aws/", "?/h/n/.aws/x"));
    plans("read-only places in what is closed make no mount", "dir /sys", RULES("#/sys/", "-/sys"));

    struct mount_plan plan;
    plan_of(RULES("+/", "!/s/", "?/s/x"), &plan);
    ok(!mount_plan_shows(&plan, "/s/new") && mount_plan_shows(&plan, "/s/x/new") &&
           mount_plan_shows(&plan, "/new") && !mount_plan_shows(&plan, "/proc/new"),
       "the plan tells what can be seen");
    mount_plan_clear(&plan);
    struct error err = {0};
    struct fs_rule root = {.kind = FS_DENY_READ, .path = (char[]){"/"}, .directory = true};
    ok(mount_plan_build(&(struct fs_rules){.items = &root, .count = 1}, &plan, &err) != 0 && plan.count == 0,
       "the root itself is not hidden");
}

static void private_folders(void) {
    plans("a private folder is one mount", "tmp /tmp", RULES("t/tmp/"));
    plans("what is granted in it is the host's", "tmp /tmp, rw /tmp/a/w, ro /tmp/a/w/d",
          RULES("t/tmp/", "+/tmp/a/w/", "-/tmp/a/w/d"));
    plans("what may be read in it as well", "tmp /tmp, ro /tmp/r", RULES("t/tmp/", "?/tmp/r/"));
    plans("what is denied in it is not there anyway", "tmp /tmp",
          RULES("t/tmp/", "!/tmp/s", "-/tmp/d", "~/tmp/c", "!/tmp/w/", "+/tmp/w/"));
    plans("nor is that in what is granted", "tmp /tmp, rw /tmp/w, file /tmp/w/s",
          RULES("t/tmp/", "+/tmp/w/", "!/tmp/w/s"));
    plans("one in a write root is pinned", "rw /h, pin /h/u, copy /h/u/.npm", RULES("+/h/", "c/h/u/.npm/"));
    plans("one in a closed folder is a hole", "holes /h, copy /h/u/.npm, dir /srv, tmp /tmp",
          RULES("#/h/", "#/tmp/", "#/srv/", "c/h/u/.npm/", "t/tmp/"));
    plans("one in another is a hole, too", "tmp /tmp, copy /tmp/h/.npm", RULES("t/tmp/", "c/tmp/h/.npm/"));
    plans("what is denied is not replaced", "dir /h, dir /tmp",
          RULES("!/h/", "c/h/.npm/", "t/tmp/", "!/tmp/"));
    plans("unless it is allowed", "holes /h, copy /h/.npm", RULES("!/h/", "c/h/.npm/", "?/h/.npm/"));
    plans("strictly, a folder can be entered", "holes /srv, folder /srv/a/b, ro /srv/a/b/c",
          RULES("#/srv/", "./srv/a/b/", "?/srv/a/b/c/"));
    plans("also a whole closed one", "holes /srv", RULES("#/srv/", "./srv/"));
    plans("where it is open there is nothing to do", "rw /w", RULES("+/w/", "./w/x/"));
    plans("in a private one it is made", "tmp /tmp, folder /tmp/x", RULES("t/tmp/", "./tmp/x/"));
    plans("what is denied cannot be entered", "dir /s", RULES("!/s/", "./s/x/"));
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
    reading();
    private_folders();
    holds_for_random_rules(40000);
    return done_testing();
}
