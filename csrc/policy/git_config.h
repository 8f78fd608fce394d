/*
 * git's configuration files (git-config(1), "Syntax"), as far as the sandbox has to know them: which keys
 * make the host's git run something, and where hooks are. A bounds-checked cursor over the bytes; pure.
 */
#ifndef OS_SANDBOX_POLICY_GIT_CONFIG_H
#define OS_SANDBOX_POLICY_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct git_config_entry {
    const char *key;   /* canonical: "core.fsmonitor", "filter.LFS.clean": section and name in lower case */
    const char *value; /* unquoted; NULL: there is no "=", which means true */
    size_t start; /* of the entry in the file: its name, up to the end of its last line (continuations too) */
    size_t end;
};

/*
 * Calls `each` for every entry in order until it gives false. 0; -1 where git would refuse the file, or it
 * is one that this reader does not take (an entry of more than 64 KiB, NUL in a name): then nothing can be
 * said of it.
 */
int git_config_read(const char *text, size_t length, bool (*each)(const struct git_config_entry *, void *),
                    void *data);

/* True where git runs, or reads as configuration, what the entry says: a table with a source beside each row.
 */
bool git_config_executes(const struct git_config_entry *entry);

/*
 * The text with every entry that executes put behind a comment sign, nothing else changed: git then reads
 * the same configuration without those. *count: how many; 0: *out is NULL. *first: the key of the first one.
 * An unreadable file becomes a comment as a whole (*count 1). The caller frees *out. 0, or -1: out of memory.
 */
int git_config_disarm(const char *text, size_t length, char **out, size_t *out_length, size_t *count,
                      char *first, size_t first_size);

struct git_config_taken {
    char *text; /* what is left, with a NUL behind it; the caller's to free. NULL: nothing was taken out */
    size_t length;
    size_t count;
    char first[256]; /* the key of the first one, cut to size; "": the file is unreadable */
};

/* git_config_disarm for the entries that are wanted out, whatever they are. */
int git_config_take_out(const char *text, size_t length,
                        bool (*wanted)(const struct git_config_entry *, void *), void *data,
                        struct git_config_taken *taken);

/* The last value of a key, unquoted, for the caller to free; NULL: not set, no value, unreadable, or no
 * memory. */
char *git_config_value(const char *text, size_t length, const char *key);

#endif
