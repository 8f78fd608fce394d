/*
 * A machine whose cwd is a linked worktree (git-worktree(1)): what a commit there writes lies in the common
 * git directory of another folder.
 */
#ifndef OS_SANDBOX_POLICY_GIT_PLACE_H
#define OS_SANDBOX_POLICY_GIT_PLACE_H

#include "policy/fs_rules.h"

/*
 * When the write roots are in *out: where the cwd is one and has a .git file that leads to C/worktrees/NAME,
 * which leads back to it (gitrepository-layout(5): gitdir, commondir), and C is no part of a write root, C
 * becomes one but for what is there and no commit writes: hooks, configuration, other worktrees. Without a
 * supervisor only the folders of a commit's objects, references and logs do. Sets common_dir and worktree
 * where the supervisor is to hold the rest. 0, or -1.
 */
int git_place_resolve(const struct fs_place *place, struct fs_rules *out, struct error *err);

#endif
