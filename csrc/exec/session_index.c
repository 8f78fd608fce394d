#include "exec/session_index.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Each kind has room of its own, so that what commands make cannot crowd out what the indexer finds. */
#define KINDS 3
#define SLOTS_MAX ((size_t)1 << 15)
#define TEXT_MAX ((uint64_t)4 << 20)
#define PATH_LENGTH_MAX ((size_t)4095)

/*
 * An entry is one word: where its path is, how long it is, and some bits of its hash; never 0. Its path is in
 * place before the word is set, so that there is no entry which is not whole.
 */
#define OFFSET_BITS 24
#define LENGTH_BITS 12

struct table {
    _Atomic uint64_t entries[SLOTS_MAX]; /* filled from the left */
    _Atomic uint64_t stamps[SLOTS_MAX];
    _Atomic uint64_t used; /* of the text; what a killed process took stays unused */
    char text[TEXT_MAX];
};

struct session_index {
    struct table tables[KINDS];
    _Atomic uint64_t moving;  /* moves that go on */
    _Atomic uint64_t begun;   /* moves so far */
    _Atomic uint64_t tickets; /* answers given while a move went on */
};

_Static_assert(sizeof(struct session_index) <= ((size_t)16 << 20) + 4096, "as large as is told of it");
_Static_assert(TEXT_MAX <= (uint64_t)1 << OFFSET_BITS, "an offset has room in an entry");
_Static_assert(PATH_LENGTH_MAX < (size_t)1 << LENGTH_BITS, "a length has room in an entry");

struct session_index *session_index_new(void) {
    void *memory = mmap(NULL, sizeof(struct session_index), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void session_index_free(struct session_index *index) {
    if (index != NULL)
        munmap(index, sizeof *index);
}

static uint64_t entry_of(uint64_t offset, const char *path, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    return hash << (OFFSET_BITS + LENGTH_BITS) | (uint64_t)length << OFFSET_BITS | offset;
}

static uint64_t offset_of(uint64_t entry) {
    return entry & (((uint64_t)1 << OFFSET_BITS) - 1);
}

static bool is_entry_of(const struct table *table, uint64_t entry, uint64_t wanted, const char *path) {
    return entry >> OFFSET_BITS == wanted >> OFFSET_BITS && strcmp(table->text + offset_of(entry), path) == 0;
}

/* Moves *at over the entries that are there. True: one of them is the path's. */
static bool find(const struct table *table, const char *path, size_t length, size_t *at) {
    uint64_t wanted = entry_of(0, path, length);
    for (; *at < SLOTS_MAX; ++*at) {
        uint64_t entry = atomic_load(&table->entries[*at]);
        if (entry == 0)
            return false;
        if (is_entry_of(table, entry, wanted, path))
            return true;
    }
    return false;
}

/* Puts the path into the table's text. False: it is full. */
static bool take_text(struct table *table, const char *path, size_t length, uint64_t *offset) {
    uint64_t used = atomic_load(&table->used);
    do {
        if (length + 1 > TEXT_MAX - used)
            return false;
    } while (!atomic_compare_exchange_weak(&table->used, &used, used + length + 1));
    *offset = used;
    memcpy(table->text + used, path, length + 1);
    return true;
}

int session_index_add(struct session_index *index, enum index_kind kind, const char *path) {
    struct table *table = &index->tables[kind - 1];
    size_t length = strnlen(path, PATH_LENGTH_MAX + 1);
    size_t at = 0;
    uint64_t offset;
    if (length == 0 || length > PATH_LENGTH_MAX)
        return -1;
    if (find(table, path, length, &at))
        return 0;
    if (at == SLOTS_MAX || !take_text(table, path, length, &offset))
        return -1;
    uint64_t entry = entry_of(offset, path, length);
    /* Where another one was faster its entry may be this path's. */
    for (uint64_t seen = 0; !atomic_compare_exchange_strong(&table->entries[at], &seen, entry); seen = 0) {
        if (find(table, path, length, &at))
            return 0;
        if (at == SLOTS_MAX)
            return -1;
    }
    return 0;
}

/* A position is a count for each kind, side by side. */
#define POSITION_BITS 21

bool session_index_next(const struct session_index *index, size_t *position, enum index_kind *kind,
                        const char **path, size_t *number) {
    _Static_assert(sizeof *position * 8 >= (size_t)POSITION_BITS * KINDS, "positions have room");
    for (size_t i = 0; i < KINDS; i++) {
        size_t at = *position >> (i * POSITION_BITS) & (((size_t)1 << POSITION_BITS) - 1);
        uint64_t entry = at < SLOTS_MAX ? atomic_load(&index->tables[i].entries[at]) : 0;
        if (entry == 0)
            continue;
        *position += (size_t)1 << (i * POSITION_BITS);
        *kind = (enum index_kind)(i + 1);
        *path = index->tables[i].text + offset_of(entry);
        *number = i * SLOTS_MAX + at;
        return true;
    }
    return false;
}

uint64_t session_index_stamp(const struct session_index *index, size_t number) {
    return atomic_load(&index->tables[number / SLOTS_MAX].stamps[number % SLOTS_MAX]);
}

void session_index_set_stamp(struct session_index *index, size_t number, uint64_t stamp) {
    atomic_store(&index->tables[number / SLOTS_MAX].stamps[number % SLOTS_MAX], stamp);
}

/* While a move goes on no answer is like another one, and each is odd. */
uint64_t session_index_moves(struct session_index *index) {
    uint64_t begun = atomic_load(&index->begun);
    if (atomic_load(&index->moving) == 0)
        return begun << 1;
    return (uint64_t)1 << 63 | atomic_fetch_add(&index->tickets, 1) << 1 | 1;
}

/* In this order, and read in the other one: what is not seen going on is counted later. */
void session_index_move_begins(struct session_index *index) {
    atomic_fetch_add(&index->moving, 1);
    atomic_fetch_add(&index->begun, 1);
}

void session_index_move_ended(struct session_index *index) {
    atomic_fetch_sub(&index->moving, 1);
}
