#include "plan/bwrap_args.h"
#include "tap.h"

#include <stdlib.h>

static const struct bwrap_features all_features = {
    .session_network = true, .disable_userns = true, .fresh_proc = true};

static char *args_text(const struct mount_plan *plan, const struct bwrap_features *features,
                       unsigned *masks) {
    struct strvec args = {0};
    struct error err = {0};
    static char text[8192];
    text[0] = '\0';
    if (bwrap_args_from_plan(plan, features, 10, &args, masks, &err) != 0)
        snprintf(text, sizeof text, "error: %s", err.text);
    for (size_t i = 0; text[0] != 'e' && i < args.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", args.items[i]);
    strvec_clear(&args);
    return text;
}

static void has(const char *text, const char *part, bool wanted, const char *name) {
    if (!ok((strstr(text, part) != NULL) == wanted, "%s", name))
        diag("in", text);
}

int main(void) {
    char paths[5][16] = {"/w", "/w/ro", "/s", "/f", "/w/--x"};
    struct mount items[] = {{.kind = MOUNT_WRITABLE, .path = paths[0]},
                            {.kind = MOUNT_READ_ONLY, .path = paths[1]},
                            {.kind = MOUNT_MASK_DIR, .path = paths[2]},
                            {.kind = MOUNT_MASK_FILE, .path = paths[3]},
                            {.kind = MOUNT_MASK_FILE, .path = paths[4]}};
    struct mount_plan plan = {.items = items, .count = 5};
    unsigned masks = 0;
    const char *text = args_text(&plan, &all_features, &masks);
    has(text, " --unshare-user ", true, "a user namespace is always made, for root too");
    has(text, " --cap-drop ALL ", true, "all capabilities are dropped");
    has(text, "--die-with-parent", false, "the stage's socket alone ties it to the agent");
    has(text, " --as-pid-1 ", true, "the stage is pid 1");
    has(text, " --proc /proc --remount-ro /proc ", true, "/proc is fresh and read-only");
    has(text, " --ro-bind / / ", true, "the root is read-only");
    has(text, " --bind /w /w --ro-bind /w/ro /w/ro --perms 0000 --tmpfs /s --remount-ro /s ", true,
        "mounts come in the plan's order");
    has(text, " --perms 0000 --ro-bind-data 10 /f --perms 0000 --ro-bind-data 11 /w/--x ", true,
        "each masked file reads a descriptor of its own");
    is_int(masks, 2, "the descriptors are counted");
    has(text, "--unshare-net", false, "in the session's network bwrap makes none");
    has(text, "--disable-userns", true, "user namespaces inside are forbidden");

    static const struct bwrap_features none = {0};
    text = args_text(&plan, &none, &masks);
    has(text, " --unshare-net ", true, "without the session's network bwrap makes one for the command");
    has(text, "--disable-userns", false, "what this bwrap cannot do is not asked for");
    has(text, " --ro-bind /proc /proc ", true,
        "where /proc cannot be mounted the outer one is bound read-only");

    has(text, " --dev /dev --perms 1777 --tmpfs /dev/shm --remount-ro /dev ", true,
        "bwrap makes /dev, read-only");

    struct bwrap_features mounted = all_features;
    mounted.mounted_before = true;
    text = args_text(&plan, &mounted, &masks);
    has(text, " --dev-bind / / --perms 1777 --tmpfs /dev/shm --proc ", true,
        "a plan that is mounted already is taken as it is");
    has(text, "/w", false, "and is not mounted again");
    is_int(masks, 0, "nor masked again");

    plan.root_writable = true;
    text = args_text(&plan, &all_features, &masks);
    has(text, " --bind / / ", true, "a write root of / binds the root writable");
    plan.root_writable = false;

    char region_paths[9][16] = {"/h",    "/h/a/b/c", "/h/a/b/c/d", "/h/a/b/e", "/h/a/x",
                                "/h/ab", "/n",       "/n/n",       "/n/n/q/r"};
    struct mount regions[] = {{.kind = MOUNT_MASK_HOLES, .path = region_paths[0]},
                              {.kind = MOUNT_READ_ONLY, .path = region_paths[1]},
                              {.kind = MOUNT_MASK_DIR, .path = region_paths[2]},
                              {.kind = MOUNT_WRITABLE, .path = region_paths[3]},
                              {.kind = MOUNT_READ_ONLY, .path = region_paths[4]},
                              {.kind = MOUNT_MASK_FILE, .path = region_paths[5]},
                              {.kind = MOUNT_MASK_HOLES, .path = region_paths[6]},
                              {.kind = MOUNT_MASK_HOLES, .path = region_paths[7]},
                              {.kind = MOUNT_READ_ONLY, .path = region_paths[8]}};
    struct mount_plan denied = {.items = regions, .count = sizeof regions / sizeof regions[0]};
    text = args_text(&denied, &all_features, &masks);
    has(text,
        " --perms 0111 --tmpfs /h --perms 0111 --dir /h/a --perms 0111 --dir /h/a/b --ro-bind /h/a/b/c "
        "/h/a/b/c ",
        true, "the folders on the way to a hole can be passed through, not listed");
    has(text,
        " --ro-bind /h/a/b/c /h/a/b/c --perms 0000 --tmpfs /h/a/b/c/d --remount-ro /h/a/b/c/d --bind "
        "/h/a/b/e /h/a/b/e ",
        true, "they are made once, also when something was mounted in a hole");
    has(text,
        " --bind /h/a/b/e /h/a/b/e --ro-bind /h/a/x /h/a/x --perms 0000 --ro-bind-data 10 /h/ab --remount-ro "
        "/h ",
        true, "the region is closed after its last hole");
    has(text,
        " --perms 0111 --tmpfs /n --perms 0111 --tmpfs /n/n --perms 0111 --dir /n/n/q --ro-bind /n/n/q/r "
        "/n/n/q/r "
        "--remount-ro /n/n --remount-ro /n --chdir /",
        true, "a region in a region is closed before it");
    is_int(masks, 1, "masked files in it are counted");

    struct mount *many = calloc(4000, sizeof *many);
    for (size_t i = 0; many != NULL && i < 4000; i++)
        many[i] = items[0];
    struct mount_plan large = {.items = many, .count = 4000};
    text = args_text(&large, &all_features, &masks);
    has(text, "error: the mount plan has 4000 mounts", true, "more arguments than bwrap takes are an error");
    free(many);
    return done_testing();
}
