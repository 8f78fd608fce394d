/*
 * What the rules (rules.h) say of a change before it is made. A place outside of the write roots, which a
 * read-only mount refuses anyway, is left to that: no rule is why it is refused.
 */
#ifndef OS_SANDBOX_EXEC_REFUSAL_H
#define OS_SANDBOX_EXEC_REFUSAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/rules.h"
#include "exec/supervised.h"
#include "exec/walk.h"

struct refusal {
    const char *why;
    uint64_t moves;          /* rules_moves() of when it was judged; 0: there are no rules */
    char path[2 * PATH_MAX]; /* real, in the run's root */
};

/*
 * True where the rules forbid the act at the place; then *out says why. The path is told anyhow. Folders that
 * are moved meanwhile make it judge again: what is said was so at one moment.
 */
bool is_refused_place(const struct call *call, enum rule_act act, const struct place *place,
                      struct refusal *out);

/* The same in the middle of a move of one's own, which is looked at again afterwards. */
bool is_refused_place_now(const struct call *call, enum rule_act act, const struct place *place,
                          struct refusal *out);

/* The same of an object, O_PATH will do. */
bool is_refused_object(const struct call *call, enum rule_act act, int fd, struct refusal *out);

/* Whether they may say so of the path in *judged, which is real and normal: then it is for is_refused_place.
 */
bool is_refused_path(const struct call *call, enum rule_act act, struct refusal *judged);

/* Reports `operation`; returns answer_errno(EACCES). */
struct answer explain_refusal(struct call *call, const char *operation, const struct refusal *refusal);

/* rules_note() of it. */
void note_place(const struct call *call, const struct place *place);
void note_path(const struct call *call, const char *path);

/*
 * To be asked after something was made where is_refused_place judged: folders above may have been moved
 * meanwhile, by anybody; where the place (the object) has another path than the judged one it is judged
 * again. Who moves a folder looks through it once more afterwards. True: it is to be taken away; *judged says
 * why.
 */
bool is_refused_by_now(const struct call *call, enum rule_act act, const struct place *place,
                       struct refusal *judged);
bool is_object_refused_by_now(const struct call *call, enum rule_act act, int fd, struct refusal *judged);

/* Takes away the name of what was made (O_PATH will do), wherever it is by now; no folder. */
void remove_made(const struct call *call, int fd);

#endif
