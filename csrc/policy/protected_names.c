#include "policy/protected_names.h"

#include <string.h>

#define SHELL "protected: shell start-up file, see allowProtected"
#define TOOL "protected: tool configuration, see allowProtected"
#define GIT "protected: git configuration, see allowProtected"
#define SANDBOX "protected: sandbox settings, see allowProtected"
#define EDITOR "protected: editor tasks, see allowProtected"
#define AGENT "protected: agent configuration, see allowProtected"
#define HUSKY "protected: git hooks, see allowProtected"

/* In lower case, and each begins with a dot: match_at, protected_name_of. */
const struct protected_name protected_names[] = {
    {".bashrc", false, SHELL, "bash(1), FILES"},
    {".bash_profile", false, SHELL, "bash(1), FILES"},
    {".bash_login", false, SHELL, "bash(1), FILES"},
    {".bash_logout", false, SHELL, "bash(1), FILES"},
    {".profile", false, SHELL, "bash(1), FILES; sh(1), Invocation"},
    {".zshrc", false, SHELL, "zsh(1), STARTUP/SHUTDOWN FILES"},
    {".zshenv", false, SHELL, "zsh(1), STARTUP/SHUTDOWN FILES"},
    {".zprofile", false, SHELL, "zsh(1), STARTUP/SHUTDOWN FILES"},
    {".zlogin", false, SHELL, "zsh(1), STARTUP/SHUTDOWN FILES"},
    {".zlogout", false, SHELL, "zsh(1), STARTUP/SHUTDOWN FILES"},
    {".envrc", false, SHELL, "direnv(1): run at each cd into the folder"},
    {".gitconfig", false, GIT, "git-config(1), FILES"},
    {".gitmodules", false, GIT, "gitmodules(5): submodule.NAME.update, url"},
    {".ripgreprc", false, TOOL, "rg(1), CONFIGURATION FILES: --pre runs a program"},
    {".mcp.json", false, AGENT, "agents: servers of the Model Context Protocol, which they start"},
    {".srt-settings.json", false, SANDBOX, "sandbox-runtime: its settings"},
    {".config/os-sandbox", true, SANDBOX, "this program: its settings"},
    {".vscode", true, EDITOR, "Visual Studio Code: tasks.json, settings.json"},
    {".idea", true, EDITOR, "JetBrains IDEs: run configurations, file watchers"},
    {".cursor", true, AGENT, "Cursor: mcp.json, rules"},
    {".codex", true, AGENT, "Codex: config.toml"},
    {".devcontainer", true, EDITOR, "Dev Containers: initializeCommand runs on the host"},
    {".husky", true, HUSKY, "husky: the folder that core.hooksPath names"},
    {".claude/commands", true, AGENT, "Claude Code: slash commands"},
    {".claude/agents", true, AGENT, "Claude Code: subagents"},
    {".claude/skills", true, AGENT, "Claude Code: skills"},
    {".claude/hooks", true, AGENT, "Claude Code: scripts of hooks"},
    {".claude/settings.json", false, AGENT, "Claude Code: hooks, permissions"},
    {".claude/settings.local.json", false, AGENT, "Claude Code: hooks, permissions"},
};
const size_t protected_name_count = sizeof protected_names / sizeof protected_names[0];

_Static_assert(sizeof protected_names / sizeof protected_names[0] <= 64, "rows are bits of a uint64_t");

int protected_name_find(const char *entry) {
    size_t length = strlen(entry);
    if (length > 1 && entry[length - 1] == '/')
        length--;
    for (size_t i = 0; i < protected_name_count; i++)
        if (strlen(protected_names[i].path) == length && memcmp(protected_names[i].path, entry, length) == 0)
            return (int)i;
    return -1;
}

static char lower(char byte, bool fold) {
    return fold && byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* Where the name, in lower case, ends in the text that begins with it; NULL: it does not. */
static const char *skip_name(const char *text, const char *name, bool fold) {
    for (; *name != '\0'; text++, name++)
        if (lower(*text, fold) != *name)
            return NULL;
    return text;
}

static bool is_freed(size_t row, uint64_t freed) {
    return (freed >> row & 1) != 0;
}

/* The row that the text at a component's start begins with. */
static const struct protected_name *match_at(const char *text, uint64_t freed, bool fold) {
    char second = lower(text[1], fold);
    for (size_t i = 0; i < protected_name_count; i++) {
        if (protected_names[i].path[1] != second || is_freed(i, freed))
            continue;
        const char *end = skip_name(text, protected_names[i].path, fold);
        if (end != NULL && (*end == '\0' || *end == '/'))
            return &protected_names[i];
    }
    return NULL;
}

const struct protected_name *protected_name_of(const char *path, uint64_t freed, bool fold) {
    for (const char *at = path; (at = strchr(at, '/')) != NULL;) {
        at++;
        const struct protected_name *found = *at == '.' ? match_at(at, freed, fold) : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* True where the path ends with "/" and so many bytes of the name. */
static bool ends_with(const char *path, size_t length, const char *name, size_t name_length, bool fold) {
    if (length <= name_length || path[length - name_length - 1] != '/')
        return false;
    for (size_t i = 0; i < name_length; i++)
        if (lower(path[length - name_length + i], fold) != name[i])
            return false;
    return true;
}

bool protected_name_below(const char *folder, uint64_t freed, bool fold, size_t *at, const char **child) {
    size_t length = strlen(folder);
    while (*at < protected_name_count) {
        size_t row = (*at)++;
        const char *path = protected_names[row].path;
        const char *slash = is_freed(row, freed) ? NULL : strchr(path, '/');
        for (; slash != NULL; slash = strchr(slash + 1, '/')) {
            if (!ends_with(folder, length, path, (size_t)(slash - path), fold))
                continue;
            *child = slash + 1;
            return true;
        }
    }
    return false;
}

/* --- git directories --- */

struct part {
    const char *name;
    enum git_part part;
};

static const struct part parts[] = {
    {"hooks", GIT_PART_HOOKS},            /* githooks(5) */
    {"config", GIT_PART_CONFIG},          /* git-config(1), FILES */
    {"config.worktree", GIT_PART_CONFIG}, /* git-config(1), extensions.worktreeConfig */
    {"commondir", GIT_PART_LINK},         /* gitrepository-layout(5) */
    {"gitdir", GIT_PART_LINK},
};

/* The component that begins at the text is the name. */
static bool is_component(const char *text, const char *name, bool fold) {
    const char *end = skip_name(text, name, fold);
    return end != NULL && (*end == '\0' || *end == '/');
}

bool git_is_dot_git(const char *path, bool fold) {
    return ends_with(path, strlen(path), ".git", 4, fold);
}

const char *git_part_name(size_t index, enum git_part *part) {
    if (index >= sizeof parts / sizeof parts[0])
        return NULL;
    *part = parts[index].part;
    return parts[index].name;
}

/* In a git directory these hold data, whose names are anything: no git directory is told by its name there.
 */
static const char *const data_names[] = {"objects", "refs", "logs"};

const char *git_data_name(size_t index) {
    return index < sizeof data_names / sizeof data_names[0] ? data_names[index] : NULL;
}

static bool holds_data(const char *text, bool fold) {
    for (size_t i = 0; i < sizeof data_names / sizeof data_names[0]; i++)
        if (is_component(text, data_names[i], fold))
            return true;
    return false;
}

/* The next component in the path's first bytes, behind *at; 0: there is none. */
static size_t next_component(const char *path, size_t length, size_t at) {
    while (at < length && path[at] != '/')
        at++;
    return at < length ? at + 1 : 0;
}

/* Where the last ".git" component begins in the path's first bytes; 0: there is none. */
static size_t last_dot_git(const char *path, size_t length, bool fold) {
    for (size_t at = length; at-- > 0;) {
        if (path[at] == '/' && at + 1 < length && path[at + 1] == '.' && at + 5 <= length &&
            (at + 5 == length || path[at + 5] == '/') && skip_name(path + at + 1, ".git", fold) != NULL)
            return at + 1;
    }
    return 0;
}

/* Behind the last ".git": 0 where that is the end, or there is none (*found). */
static size_t behind_dot_git(const char *path, size_t length, bool fold, bool *found) {
    size_t at = last_dot_git(path, length, fold);
    *found = at > 0;
    return *found ? next_component(path, length, at) : 0;
}

bool git_is_worktree_name(const char *path, size_t length, bool fold) {
    bool found;
    size_t at = behind_dot_git(path, length, fold, &found);
    if (at == 0 || !is_component(path + at, "worktrees", fold))
        return false;
    at = next_component(path, length, at);
    return at > 0 && next_component(path, length, at) == 0;
}

bool git_is_directory_name(const char *path, size_t length, bool fold) {
    bool found;
    size_t at = behind_dot_git(path, length, fold, &found);
    if (!found || at == 0)
        return found;
    if (!is_component(path + at, "modules", fold))
        return git_is_worktree_name(path, length, fold);
    at = next_component(path, length, at);
    bool below = at > 0;
    for (; at > 0; at = next_component(path, length, at))
        if (holds_data(path + at, fold))
            return false;
    return below;
}

/* The part whose name the component at the text is, or NULL: files count only as the last one. */
static const struct part *part_at(const char *text, bool fold) {
    char first = lower(*text, fold);
    if (first != 'h' && first != 'c' && first != 'g')
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *end = skip_name(text, parts[i].name, fold);
        if (end != NULL && (*end == '\0' || (*end == '/' && parts[i].part == GIT_PART_HOOKS)))
            return &parts[i];
    }
    return NULL;
}

bool git_candidate_next(const char *path, bool fold, size_t *at, struct git_candidate *out) {
    const char *slash = strchr(path + *at, '/');
    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        const struct part *part = part_at(slash + 1, fold);
        if (part == NULL)
            continue;
        size_t directory = (size_t)(slash - path);
        *out = (struct git_candidate){
            .part = part->part,
            .directory = directory,
            .is_directory = git_is_directory_name(path, directory, fold),
            .whole = slash[1 + strlen(part->name)] == '\0',
        };
        *at = directory + 1;
        return true;
    }
    *at = strlen(path);
    return false;
}

bool git_marks_directory(const char *name, bool fold) {
    static const char *const others[] = {"head", "objects", "refs", ".git"};
    const char *head = skip_name(name, "HEAD", false);
    if (head != NULL && *head == '\0')
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *end = skip_name(name, parts[i].name, fold);
        if (end != NULL && *end == '\0')
            return true;
    }
    for (size_t i = fold ? 0 : 1; i < sizeof others / sizeof others[0]; i++) {
        const char *end = skip_name(name, others[i], fold);
        if (end != NULL && *end == '\0')
            return true;
    }
    return false;
}
