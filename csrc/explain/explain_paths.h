/*
 * What a command may do with a path, and which rule says so: asked of the functions that enforce it. Looks at
 * the file system, changes nothing; made for a thread of the pool.
 */
#ifndef OS_SANDBOX_EXPLAIN_EXPLAIN_PATHS_H
#define OS_SANDBOX_EXPLAIN_EXPLAIN_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/fs_rules.h"
#include "policy/options.h"

struct explain_reason {
    bool allowed;
    const char *why;         /* constant; a denial in the words of its violation */
    struct fs_source source; /* the option's entry that decided; name NULL: a default, or nothing */
    char *at;                /* the path that the rule is about; owned; NULL: none */
};

struct explained_path {
    char *path;     /* absolute; owned */
    char *resolved; /* where it leads, real as far as it exists; owned */
    bool exists;
    bool is_socket; /* or a socket would be meant: connect counts */
    struct explain_reason read;
    struct explain_reason write; /* of a folder: whether something can be made in it */
    struct explain_reason connect;
};

struct path_explainer;

/*
 * The rules as a command's run would have them now. options, and what place points to, must outlive it; the
 * memory of place is written to. NULL with *err: as fs_rules_resolve.
 */
struct path_explainer *path_explainer_new(const struct options *options, const struct fs_place *place,
                                          struct error *err);
void path_explainer_free(struct path_explainer *explainer);

/* path: as in the options. 0 with *out to be released by explained_path_clear (also after -1). */
int explain_path(struct path_explainer *explainer, const char *path, struct explained_path *out,
                 struct error *err);
void explained_path_clear(struct explained_path *explained);

const struct fs_rules *path_explainer_rules(const struct path_explainer *explainer);

#endif
