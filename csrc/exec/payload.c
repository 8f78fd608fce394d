#include "exec/payload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MAGIC 0x35504f53u /* "SOP5" */

struct writer {
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
};

static void put_bytes(struct writer *out, const void *bytes, size_t size) {
    if (out->failed)
        return;
    if (size > UINT32_MAX - out->size) {
        out->failed = true;
        return;
    }
    if (out->size + size > out->capacity) {
        size_t capacity = out->capacity * 2 > out->size + size ? out->capacity * 2 : out->size + size;
        char *data = realloc(out->data, capacity);
        if (data == NULL) {
            out->failed = true;
            return;
        }
        out->data = data;
        out->capacity = capacity;
    }
    if (size > 0)
        memcpy(out->data + out->size, bytes, size);
    out->size += size;
}

static void put_u32(struct writer *out, uint32_t value) {
    put_bytes(out, &value, sizeof value);
}

static void put_u64(struct writer *out, uint64_t value) {
    put_bytes(out, &value, sizeof value);
}

static void put_string(struct writer *out, const char *string) {
    size_t length = strlen(string);
    put_u32(out, (uint32_t)length);
    put_bytes(out, string, length + 1);
}

static void put_mounts(struct writer *out, const struct payload_mount *mounts, size_t count) {
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_u32(out, mounts[i].kind);
        put_u64(out, mounts[i].device);
        put_u64(out, mounts[i].inode);
        put_string(out, mounts[i].path);
    }
}

static void put_rules(struct writer *out, const struct payload_rule *rules, size_t count) {
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_u32(out, rules[i].kind);
        put_u32(out, rules[i].glob);
        put_string(out, rules[i].path);
        put_string(out, rules[i].why);
    }
}

static void put_strings(struct writer *out, char *const *strings, size_t count) {
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        put_string(out, strings[i]);
}

void *payload_encode(const struct payload *payload, size_t *size) {
    struct writer out = {0};
    put_u32(&out, PAYLOAD_MAGIC);
    put_string(&out, payload->bwrap);
    put_u32(&out, payload->mask_count);
    put_string(&out, payload->cwd);
    put_strings(&out, payload->argv, payload->argc);
    put_strings(&out, payload->envp, payload->envc);
    put_u32(&out, payload->file_mode_mask);
    put_u32(&out, (uint32_t)payload->nice);
    put_u32(&out, (uint32_t)payload->limit_count);
    for (size_t i = 0; i < payload->limit_count; i++) {
        put_u32(&out, payload->limits[i].resource);
        put_u64(&out, payload->limits[i].soft);
        put_u64(&out, payload->limits[i].hard);
    }
    for (size_t i = 0; i < COST_LIMITS; i++)
        put_u64(&out, payload->cost.most[i]);
    put_string(&out, payload->group_parent == NULL ? "" : payload->group_parent);
    put_u64(&out, payload->group_processes);
    put_u32(&out, payload->root_writable);
    put_mounts(&out, payload->mounts, payload->mount_count);
    put_mounts(&out, payload->later, payload->later_count);
    put_strings(&out, payload->read_denied, payload->read_denied_count);
    put_strings(&out, payload->write_denied, payload->write_denied_count);
    put_u32(&out, payload->supervision);
    put_u32(&out, payload->own_proxy);
    put_u32(&out, (uint32_t)payload->reason_count);
    for (size_t i = 0; i < payload->reason_count; i++) {
        put_string(&out, payload->reasons[i].path);
        put_string(&out, payload->reasons[i].why);
    }
    put_rules(&out, payload->rules, payload->rule_count);
    put_strings(&out, payload->opened, payload->opened_count);
    put_u64(&out, payload->freed_names);
    put_u32(&out, payload->allow_git_config);
    put_string(&out, payload->common_dir == NULL ? "" : payload->common_dir);
    put_string(&out, payload->worktree == NULL ? "" : payload->worktree);
    put_strings(&out, payload->unix_sockets, payload->unix_socket_count);
    put_u32(&out, (uint32_t)payload->arguments_size);
    put_bytes(&out, payload->arguments, payload->arguments_size);
    if (out.failed) {
        free(out.data);
        return NULL;
    }
    *size = out.size;
    return out.data;
}

/* A bounds-checked cursor: after the first failure every read gives zero and failed stays set. */
struct cursor {
    const char *data;
    size_t size;
    size_t at;
    bool failed;
};

static const char *take_bytes(struct cursor *in, size_t size) {
    if (in->failed || size > in->size - in->at) {
        in->failed = true;
        return NULL;
    }
    const char *bytes = in->data + in->at;
    in->at += size;
    return bytes;
}

static uint32_t take_u32(struct cursor *in) {
    uint32_t value = 0;
    const char *bytes = take_bytes(in, sizeof value);
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t take_u64(struct cursor *in) {
    uint64_t value = 0;
    const char *bytes = take_bytes(in, sizeof value);
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof value);
    return value;
}

static const char *take_string(struct cursor *in) {
    size_t length = take_u32(in);
    const char *bytes = take_bytes(in, length + 1);
    if (bytes != NULL && (bytes[length] != '\0' || memchr(bytes, '\0', length) != NULL)) {
        in->failed = true;
        return NULL;
    }
    return bytes;
}

/* A count of items that each take at least item_size bytes: what cannot fit is refused before it is
 * allocated. */
static size_t take_count(struct cursor *in, size_t item_size) {
    size_t count = take_u32(in);
    if (count > (in->size - in->at) / item_size)
        in->failed = true;
    return in->failed ? 0 : count;
}

static char **take_strings(struct cursor *in, size_t *count) {
    *count = take_count(in, sizeof(uint32_t) + 1);
    char **strings = calloc(*count + 1, sizeof *strings);
    if (strings == NULL) {
        in->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < *count; i++)
        strings[i] = (char *)(uintptr_t)take_string(in);
    return strings;
}

static struct payload_mount *take_mounts(struct cursor *in, size_t *count) {
    *count = take_count(in, 2 * sizeof(uint32_t) + 2 * sizeof(uint64_t) + 1);
    struct payload_mount *mounts = calloc(*count + 1, sizeof *mounts);
    if (mounts == NULL)
        in->failed = true;
    for (size_t i = 0; !in->failed && i < *count; i++) {
        mounts[i].kind = take_u32(in);
        mounts[i].device = take_u64(in);
        mounts[i].inode = take_u64(in);
        mounts[i].path = take_string(in);
        if (mounts[i].kind >= MOUNT_KINDS)
            in->failed = true;
    }
    return mounts;
}

static struct payload_rule *take_rules(struct cursor *in, size_t *count) {
    *count = take_count(in, 4 * sizeof(uint32_t) + 2);
    struct payload_rule *rules = calloc(*count + 1, sizeof *rules);
    if (rules == NULL)
        in->failed = true;
    for (size_t i = 0; !in->failed && i < *count; i++) {
        rules[i].kind = take_u32(in);
        rules[i].glob = take_u32(in);
        rules[i].path = take_string(in);
        rules[i].why = take_string(in);
    }
    return rules;
}

int payload_decode(const void *data, size_t size, struct payload *out) {
    struct cursor in = {.data = data, .size = size};
    *out = (struct payload){0};
    if (take_u32(&in) != PAYLOAD_MAGIC)
        in.failed = true;
    out->bwrap = take_string(&in);
    out->mask_count = take_u32(&in);
    out->cwd = take_string(&in);
    out->argv = take_strings(&in, &out->argc);
    out->envp = take_strings(&in, &out->envc);
    out->file_mode_mask = take_u32(&in);
    out->nice = (int32_t)take_u32(&in);
    out->limit_count = take_count(&in, sizeof(uint32_t) + 2 * sizeof(uint64_t));
    if (out->limit_count > PAYLOAD_LIMITS_MAX)
        in.failed = true;
    for (size_t i = 0; !in.failed && i < out->limit_count; i++) {
        out->limits[i].resource = take_u32(&in);
        out->limits[i].soft = take_u64(&in);
        out->limits[i].hard = take_u64(&in);
    }
    for (size_t i = 0; i < COST_LIMITS; i++)
        out->cost.most[i] = take_u64(&in);
    out->group_parent = take_string(&in);
    out->group_processes = take_u64(&in);
    out->root_writable = take_u32(&in);
    out->mounts = take_mounts(&in, &out->mount_count);
    out->later = take_mounts(&in, &out->later_count);
    out->read_denied = take_strings(&in, &out->read_denied_count);
    out->write_denied = take_strings(&in, &out->write_denied_count);
    out->supervision = take_u32(&in);
    out->own_proxy = take_u32(&in);
    out->reason_count = take_count(&in, 2 * (sizeof(uint32_t) + 1));
    out->reasons = calloc(out->reason_count + 1, sizeof *out->reasons);
    if (out->reasons == NULL)
        in.failed = true;
    for (size_t i = 0; !in.failed && i < out->reason_count; i++) {
        out->reasons[i].path = take_string(&in);
        out->reasons[i].why = take_string(&in);
    }
    out->rules = take_rules(&in, &out->rule_count);
    out->opened = take_strings(&in, &out->opened_count);
    out->freed_names = take_u64(&in);
    out->allow_git_config = take_u32(&in);
    out->common_dir = take_string(&in);
    out->worktree = take_string(&in);
    out->unix_sockets = take_strings(&in, &out->unix_socket_count);
    out->arguments_size = take_u32(&in);
    out->arguments_offset = in.at;
    out->arguments = take_bytes(&in, out->arguments_size);
    if (in.failed || in.at != in.size) {
        payload_release(out);
        return -1;
    }
    return 0;
}

void payload_release(struct payload *payload) {
    free(payload->argv);
    free(payload->envp);
    free(payload->mounts);
    free(payload->read_denied);
    free(payload->write_denied);
    free(payload->reasons);
    free(payload->later);
    free(payload->rules);
    free(payload->opened);
    free(payload->unix_sockets);
    *payload = (struct payload){0};
}
