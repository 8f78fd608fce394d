#include "exec/git_check_config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/git_check_file.h"
#include "policy/git_config.h"

#define CONFIG_MAX (4u << 20)
/* Of a file with several names: each would become a file of its own. */
#define LINKED_MAX (64u << 10)
#define HEAD_MAX (64u << 10)

/* --- core.worktree --- */

static bool same_object(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static int open_path(int folder, const char *path) {
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* What a .git file says: "gitdir: PATH" (gitrepository-layout(5)). */
static bool file_names_directory(int worktree, int file, const struct stat *directory) {
    size_t length;
    cleanup_free char *text = check_read_file(file, PATH_MAX, &length);
    if (text == NULL || strncmp(text, "gitdir: ", 8) != 0)
        return false;
    while (length > 8 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    cleanup_fd int named = open_path(worktree, text + 8);
    struct stat status;
    return named >= 0 && fstat(named, &status) == 0 && same_object(&status, directory);
}

/* True where the working tree has a .git that is the directory, or leads to it: a submodule's. */
static bool is_own_worktree(int directory, const char *path) {
    struct stat own, status;
    cleanup_fd int worktree = open_path(directory, path);
    if (worktree < 0 || fstat(directory, &own) != 0 ||
        fstatat(worktree, ".git", &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (S_ISDIR(status.st_mode))
        return same_object(&status, &own);
    cleanup_fd int file = check_open_file(worktree, ".git", &status);
    return file >= 0 && file_names_directory(worktree, file, &own);
}

static bool is_unwanted(const struct git_config_entry *entry, void *data) {
    const int *directory = data;
    if (strcmp(entry->key, "core.worktree") == 0)
        return entry->value != NULL && !is_own_worktree(*directory, entry->value);
    return git_config_executes(entry);
}

/* --- config --- */

static void say_taken(struct check *check, const char *name, const struct git_config_taken *taken) {
    char why[sizeof(taken->first) + 64];
    if (taken->first[0] == '\0')
        snprintf(why, sizeof(why), "no configuration of git");
    else if (taken->count == 1)
        snprintf(why, sizeof(why), "git would run or follow %s", taken->first);
    else
        snprintf(why, sizeof(why), "git would run or follow %s and %zu more", taken->first, taken->count - 1);
    check_say(check, name, why);
}

void check_config(struct check *check, int directory, const char *name) {
    struct stat status;
    struct git_config_taken taken = {.text = NULL};
    size_t length = 0;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return;
    cleanup_fd int file = check_open_file(directory, name, &status);
    cleanup_free char *text = file < 0 ? NULL : check_read_file(file, CONFIG_MAX, &length);
    bool multiplied = text != NULL && status.st_nlink > 1 && length > LINKED_MAX;
    if (text == NULL || multiplied ||
        git_config_take_out(text, length, is_unwanted, &directory, &taken) != 0) {
        check_remove(check, directory, name, "no file that can be checked");
        return;
    }
    /* Always anew: who still has the old file open, or mapped, or under a second name, can change that one.
     */
    cleanup_free char *left = taken.text;
    int error = left == NULL ? check_replace_file(directory, name, &status, text, length)
                             : check_replace_file(directory, name, &status, left, taken.length);
    if (error != 0)
        check_remove(check, directory, name, "could not be written anew");
    else if (left != NULL)
        say_taken(check, name, &taken);
}

/* --- commondir --- */

/* With newlines behind, as get_common_dir_noenv() of git's setup.c drops them. */
static bool is_worktrees(const char *text, size_t length) {
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    return length == 5 && memcmp(text, "../..", 5) == 0;
}

/* The directory is X/worktrees/NAME of an X that git takes by itself: what is no whole one is not made
 * harmless. */
static bool is_of_worktree(int directory) {
    struct stat holder, status;
    cleanup_fd int common = openat(directory, "../..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return common >= 0 && fstatat(directory, "..", &holder, 0) == 0 &&
           fstatat(common, "worktrees", &status, AT_SYMLINK_NOFOLLOW) == 0 && same_object(&holder, &status) &&
           git_check_is_directory(common) && git_check_head(common) == GIT_HEAD_VALID;
}

/* The same bytes: who still has the old file open, or under another name, changes nothing here. */
static bool renew(int directory, const char *name, const struct stat *status, const char *text,
                  size_t length) {
    return check_replace_file(directory, name, status, text, length) == 0;
}

void check_common_directory(struct check *check, int directory) {
    struct stat status;
    size_t length;
    if (fstatat(directory, "commondir", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return;
    cleanup_fd int file = check_open_file(directory, "commondir", &status);
    cleanup_free char *text = file < 0 ? NULL : check_read_file(file, 64, &length);
    if (text == NULL || !is_worktrees(text, length) || !is_of_worktree(directory) ||
        !renew(directory, "commondir", &status, text, length))
        check_remove(check, directory, "commondir", "leads git to hooks and configuration elsewhere");
}

void check_head(struct check *check, int directory) {
    struct stat status;
    size_t length;
    cleanup_fd int file = check_open_file(directory, "HEAD", &status);
    if (file < 0)
        return;
    cleanup_free char *text = check_read_file(file, HEAD_MAX, &length);
    if (text == NULL || !renew(directory, "HEAD", &status, text, length))
        check_remove(check, directory, "HEAD", "could become one that git takes");
}
