/* The known option keys, as data: the parser and (through options_schema_json) the JS side both work from it.
 */
#ifndef OS_SANDBOX_POLICY_OPTION_TABLE_H
#define OS_SANDBOX_POLICY_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define OPTION_LIST_MAX 10000            /* entries of one list, keys of one map */
#define OPTION_STRING_MAX 65536          /* bytes of one string */
#define OPTION_DOCUMENT_MAX (16u << 20u) /* bytes of the whole document */

enum option_kind {
    OPTION_OBJECT,
    OPTION_STRINGS,
    OPTION_STRING,
    OPTION_BOOLEAN,
    OPTION_NUMBER,
    OPTION_FUNCTION,
    OPTION_STRING_LISTS, /* any key → list of strings */
};

/* What a string, or those of a list, are. */
enum option_entry {
    OPTION_ENTRY_TEXT,
    OPTION_ENTRY_PATH,
    OPTION_ENTRY_FIXED_PATH, /* one that no cwd is needed for */
    OPTION_ENTRY_DOMAIN,
    OPTION_ENTRY_ADDRESS,      /* an address or a block of addresses */
    OPTION_ENTRY_UPSTREAM,     /* "direct", or what upstream_proxy_parse takes */
    OPTION_ENTRY_DEFAULT_READ, /* "allow" or "deny" */
    OPTION_ENTRY_PROTECTED,    /* a row of protected_names.h */
};

enum option_support {
    OPTION_HONOURED,
    OPTION_LATER, /* part of the interface, not of this version: refused unless the value changes nothing */
};

/* What becomes of a value where more than one layer of settings has one. */
enum option_layering {
    OPTION_LAYER_LATER, /* the later layer's replaces it */
    OPTION_LAYER_ADDS,  /* the lists add up */
    OPTION_LAYER_HOLDS, /* once it is .held, it stays so */
    OPTION_LAYER_LEAST, /* the smallest number holds */
    OPTION_LAYER_KEYS,  /* a later key of a map replaces the same key */
    OPTION_LAYER_LOG,   /* replaced, but no command may write what it was */
};

struct option_row {
    const char *group; /* the object it is a key of: "" for the options themselves */
    const char *key;
    enum option_kind kind;
    enum option_support support;
    enum option_entry entry;
    size_t offset;        /* of its member in struct options, for what is stored */
    uint64_t least, most; /* OPTION_NUMBER: in a uint64_t where most does not fit a uint32_t, else in one of
                             those */
    const char *inert;    /* OPTION_LATER: a JSON list of the values that change nothing, or NULL */
    enum option_layering layering;
    const char *held; /* OPTION_LAYER_HOLDS: the value, as JSON */
};

/* The row of a key in a group, or NULL. */
const struct option_row *option_table_find(const char *group, const char *key);

/* Rows in their order, NULL past the end. */
const struct option_row *option_table_row(size_t index);

/* The kind's name in the schema. */
const char *option_kind_name(enum option_kind kind);

#endif
