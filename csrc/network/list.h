/* Doubly linked lists whose links lie in what they link; a head is a link of its own. */
#ifndef OS_SANDBOX_NETWORK_LIST_H
#define OS_SANDBOX_NETWORK_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *next; /* NULL: in no list */
    struct link *previous;
};

#define LINK_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void link_head(struct link *head) {
    head->next = head;
    head->previous = head;
}

static inline bool link_is_empty(const struct link *head) {
    return head->next == head;
}

static inline bool link_is_in_list(const struct link *link) {
    return link->next != NULL;
}

/* At the end of the list. */
static inline void link_add(struct link *head, struct link *link) {
    link->next = head;
    link->previous = head->previous;
    head->previous->next = link;
    head->previous = link;
}

/* Harmless for one that is in no list. */
static inline void link_remove(struct link *link) {
    if (link->next == NULL)
        return;
    link->next->previous = link->previous;
    link->previous->next = link->next;
    link->next = NULL;
    link->previous = NULL;
}

/* The first, taken out; NULL: the list is empty. */
static inline struct link *link_take(struct link *head) {
    struct link *first = head->next;
    if (first == head)
        return NULL;
    link_remove(first);
    return first;
}

#endif
