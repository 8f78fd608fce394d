#include "walk_tree.h"

/* --- what the kernel says --- */

/* 300 and 5000 bytes are put for %N and %P. */
static const char *const paths[] = {
    "file",
    "./file",
    "dir",
    "dir/",
    "dir//",
    "dir/.",
    "dir/..",
    "dir/./sub/../file",
    "dir//sub///deep",
    ".",
    "..",
    "./",
    "",
    "file/",
    "file/.",
    "file/x",
    "file/..",
    "missing",
    "missing/",
    "missing/x",
    "missing/..",
    "dir/up/file",
    "dir/round",
    "dir/to-file",
    "to-file",
    "to-file/",
    "to-file/x",
    "to-file-slash",
    "to-dir",
    "to-dir/",
    "to-dir/file",
    "to-dir/.",
    "to-dir/..",
    "to-dir/../to-dir/to-file",
    "to-dir-slash",
    "to-dir-slash/",
    "to-dir-slash/file",
    "to-dir-slashes",
    "to-dir-slashes/sub/deep",
    "to-link",
    "to-link/sub",
    "to-link/sub/deep",
    "to-dot",
    "to-dot/file",
    "to-dots",
    "to-dots/file",
    "to-root",
    "to-root/",
    "to-root/tmp",
    "to-above",
    "to-above/tmp",
    "../../../../../../../../tmp",
    "absolute",
    "absolute/deep",
    "absolute/../file",
    "dangling",
    "dangling/",
    "dangling/x",
    "dangling-deep",
    "dangling-slash",
    "dangling-into",
    "dangling-into/",
    "loop-a",
    "loop-a/",
    "loop-a/x",
    "loop-self",
    "through-file",
    "sticky/link",
    "closed",
    "closed/",
    "closed/.",
    "closed/..",
    "closed/file",
    "closed/missing",
    "closed/file/x",
    "to-closed",
    "fifteen0",
    "fifteen0/x",
    "%N",
    "dir/%N",
    "%N/x",
    "to-dir/%N",
    "to-dir/%N/x",
    "missing/%N",
    "%P",
};
enum { PATHS = sizeof paths / sizeof *paths };

static const char *expand(const char *path, char *into, size_t size) {
    const char *mark = strchr(path, '%');
    if (mark == NULL)
        return path;
    int length = mark[1] == 'N' ? 300 : 5000;
    snprintf(into, size, "%.*s%0*d%s", (int)(mark - path), path, length, 0, mark + 2);
    return into;
}

/* "%s" and the same from the root. */
static const char *variant(const char *path, bool absolute, char *into, size_t size) {
    if (!absolute || path[0] == '\0')
        return path;
    snprintf(into, size, "%s/%s", top, path);
    return into;
}

static void objects_are_the_kernels(struct call *call, const char *path, bool follow, bool absolute) {
    char expanded[8192], whole[8300];
    struct place place;
    const char *full = variant(expand(path, expanded, sizeof expanded), absolute, whole, sizeof whole);
    int wanted = open(full, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    int wanted_errno = errno;
    int got = walk_to_object(call, AT_FDCWD, full, follow, &place);
    bool placed = place.parent >= 0;
    place_clear(&place);
    ok(same_result(got, -got, wanted, wanted_errno), "%s%s, %s: the kernel's object", absolute ? "/…/" : "",
       path, follow ? "followed" : "not followed");
    if (got >= 0 || got == -EACCES)
        ok(placed, "%s: with its place", path);
}

/*
 * The place of a path that is followed is where open(2) finds a file, or makes it: what is made there is then
 * found by the path.
 */
static void places_are_the_kernels(struct call *call, const char *path) {
    char expanded[8192];
    struct place place;
    const char *full = expand(path, expanded, sizeof expanded);
    int wanted = open(full, O_PATH | O_CLOEXEC);
    int wanted_errno = errno;
    int error = walk_to_place(call, AT_FDCWD, full, true, &place);
    int got = error != 0 ? -error : place_open(&place);
    bool missing = error == 0 && got == -ENOENT && wanted < 0 && wanted_errno == ENOENT;
    if (missing && strchr(place.name, '/') == NULL) {
        int made = openat(place.parent, place.name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        wanted = open(full, O_PATH | O_CLOEXEC);
        ok(made >= 0 && same_result(made, 0, wanted, errno), "%s: what is made at its place is found by it",
           path);
        unlinkat(place.parent, place.name, 0);
    } else {
        ok(same_result(got, -got, wanted, wanted_errno), "%s: the kernel's place", path);
    }
    place_clear(&place);
}

/* Calls that take a name: on the path by the kernel, and on the place. What they make is removed again. */
enum { MAKE_DIR, MAKE_LINK, REMOVE_DIR, REMOVE, NAME_CALLS };
static const char *const name_calls[] = {"mkdir", "symlink", "rmdir", "unlink"};

static int call_by_name(unsigned which, int folder, const char *name) {
    int result = which == MAKE_DIR    ? mkdirat(folder, name, 0700)
                 : which == MAKE_LINK ? symlinkat("x", folder, name)
                                      : unlinkat(folder, name, which == REMOVE_DIR ? AT_REMOVEDIR : 0);
    int error = result == 0 ? 0 : errno;
    if (result == 0 && which <= MAKE_LINK)
        unlinkat(folder, name, which == MAKE_DIR ? AT_REMOVEDIR : 0);
    return error;
}

static void names_are_the_kernels(struct call *call, const char *path, unsigned which) {
    char expanded[8192], name[128];
    struct place place;
    struct stat facts;
    const char *full = expand(path, expanded, sizeof expanded);
    /* What would be gone afterwards is left. */
    size_t length = strlen(full);
    bool slash = length > 0 && full[length - 1] == '/';
    if (which == REMOVE && !slash && lstat(full, &facts) == 0 && !S_ISDIR(facts.st_mode))
        return;
    snprintf(name, sizeof name, "%s: %.40s as the kernel does it", name_calls[which], path);
    int wanted = call_by_name(which, AT_FDCWD, full);
    int error = walk_to_place(call, AT_FDCWD, full, false, &place);
    is_int(error != 0 ? error : call_by_name(which, place.parent, place.name), wanted, name);
    place_clear(&place);
}

static void table(struct call *call) {
    for (size_t i = 0; i < PATHS; i++) {
        for (unsigned how = 0; how < 4; how++)
            objects_are_the_kernels(call, paths[i], (how & 1) != 0, (how & 2) != 0);
        places_are_the_kernels(call, paths[i]);
        for (unsigned which = 0; which < NAME_CALLS; which++)
            names_are_the_kernels(call, paths[i], which);
    }
}

/*
 * path_resolution(7). The kernel itself counts links twice where it has to start again, because something was
 * renamed meanwhile (fs/namei.c: total_link_count), so it is not asked.
 */
static void limit_of_links(struct call *call) {
    leads_to(call, AT_FDCWD, "forty0", "forty40");
    fails_with(call, AT_FDCWD, "forty0/x", ENOTDIR);
    fails_with(call, AT_FDCWD, "more0", ELOOP);
    fails_with(call, AT_FDCWD, "more0/x", ELOOP);
}

/* --- descriptors --- */

static void descriptors(struct call *call) {
    leads_to(call, CHILD_FOLDER, "file", "dir/file");
    leads_to(call, CHILD_FOLDER, "sub/../to-file", "dir/file");
    leads_to(call, CHILD_FOLDER, "up/file", "file");
    leads_to(call, 12345, top, top);
    fails_with(call, 12345, "file", EBADF);
    fails_with(call, -1, "file", EBADF);
    fails_with(call, CHILD_FILE, "x", ENOTDIR);
    fails_with(call, CHILD_FILE, ".", ENOTDIR);
    fails_with(call, CHILD_PIPE, "x/y", ENOTDIR);
}

/* --- what a place is called --- */

static void is_called(struct call *call, const char *path, int error, const char *below) {
    char name[PATH_MAX], wanted[PATH_MAX];
    struct place place;
    int got = walk_to_place(call, AT_FDCWD, path, true, &place);
    place_path(&place, name, sizeof name);
    place_clear(&place);
    snprintf(wanted, sizeof wanted, "%s%s", below[0] == '!' ? "" : top, below[0] == '!' ? below + 1 : below);
    ok(got == error, "%s: %s", path, error == 0 ? "has a place" : strerror(error));
    is_str(name, wanted, "and its path is the real one");
}

static void names_of_places(struct call *call) {
    char small[8];
    struct place place;
    is_called(call, "file", 0, "/file");
    is_called(call, "missing", 0, "/missing");
    is_called(call, "missing/", 0, "/missing");
    is_called(call, "to-dir/new", 0, "/dir/new");
    is_called(call, "dangling-into", 0, "/dir/missing");
    is_called(call, "absolute", 0, "/dir/sub");
    is_called(call, "absolute/.", 0, "/dir/sub");
    is_called(call, "absolute/..", 0, "/dir");
    is_called(call, "to-root", 0, "!/");
    is_called(call, "/", 0, "!/");
    is_called(call, "/new", 0, "!/new");
    is_called(call, "/proc/self/fd/61", 0, "/dir");
    is_called(call, "/proc/self/fd/61/new", 0, "/dir/new");
    is_called(call, "closed/file", EACCES, "/closed/file");
    is_called(call, "closed/a/b", EACCES, "/closed/a/b");
    is_called(call, "to-closed", EACCES, "/closed/file");
    is_called(call, "to-dir/../closed/a/", EACCES, "/closed/a");
    walk_to_place(call, AT_FDCWD, "dir/file", true, &place);
    place_path(&place, small, sizeof small);
    place_clear(&place);
    is_str(small, "/tmp/wa", "a path is cut to the size that there is for it");
}

static void deleted_folder(struct call *call) {
    char path[PATH_MAX], wanted[PATH_MAX];
    mkdir("gone", 0700);
    int fd = open("gone", O_PATH | O_CLOEXEC);
    rmdir("gone");
    object_path(fd, path, sizeof path);
    snprintf(wanted, sizeof wanted, "%s/gone", top);
    is_str(path, wanted, "what was deleted is called as it was");
    close(fd);
    fd = target_folder(call, CHILD_PIPE);
    object_path(fd, path, sizeof path);
    is_str(path, "", "a pipe has no path");
    close(fd);
}

int main(void) {
    struct notified child;
    if (!ok(become_plain_user(), "the test runs as a plain user"))
        return done_testing();
    make_tree();
    if (ok(notified_start(&child, waiting_call, 1, open_descriptors, wait_for_ever, NULL) &&
               notified_next(&child),
           "a process waits for its answer")) {
        table(&child.call);
        limit_of_links(&child.call);
        descriptors(&child.call);
        names_of_places(&child.call);
        deleted_folder(&child.call);
        kill(child.pid, SIGKILL);
        waitid(P_PID, (id_t)child.pid, NULL, WEXITED | WNOWAIT);
        fails_with(&child.call, AT_FDCWD, "file", ESRCH);
        notified_end(&child, false);
    }
    remove_tree();
    return done_testing();
}
