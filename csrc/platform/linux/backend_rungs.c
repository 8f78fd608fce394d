/* What the host can do: the rungs of the ladder, and what a session tells of the one that it stands on. */
#include "exec/payload.h"
#include "platform/linux/backend_internal.h"
#include "platform/linux/host_check.h"

/* What is tried, best first; the first that runs a probe is what every run gets. */
static const struct bwrap_features rungs[] = {
    {.session_network = true, .mounted_before = true, .disable_userns = true, .fresh_proc = true},
    {.session_network = true, .mounted_before = true, .disable_userns = false, .fresh_proc = true},
    {.session_network = true, .mounted_before = true, .disable_userns = false, .fresh_proc = false},
    {.session_network = true, .mounted_before = false, .disable_userns = true, .fresh_proc = true},
    {.session_network = true, .mounted_before = false, .disable_userns = false, .fresh_proc = true},
    {.session_network = true, .mounted_before = false, .disable_userns = false, .fresh_proc = false},
    {.session_network = false, .mounted_before = false, .disable_userns = true, .fresh_proc = true},
    {.session_network = false, .mounted_before = false, .disable_userns = false, .fresh_proc = true},
    {.session_network = false, .mounted_before = false, .disable_userns = false, .fresh_proc = false},
};
#define RUNGS (sizeof rungs / sizeof rungs[0])

/* The agent could not make what it needs. */
static bool is_out_of_reach(const struct backend *backend, const struct bwrap_features *rung) {
    return (rung->session_network && !backend->has_namespaces) ||
           (rung->mounted_before && !backend->has_mounts);
}

bool backend_choose(struct backend *backend, unsigned *rung) {
    while (*rung < RUNGS && is_out_of_reach(backend, &rungs[*rung]))
        ++*rung;
    if (*rung >= RUNGS)
        return false;
    backend->features = rungs[*rung];
    return true;
}

void backend_explain(const char *text, struct error *err) {
    host_explain(text, err);
}

void backend_learn(struct backend *backend, const char *unsupervised, bool unfiltered) {
    backend->supervision = unfiltered ? SUPERVISE_UNFILTERED : 0;
    error_set(&backend->supervision_error, ERROR_HOST, 0, "%s", unsupervised);
}

bool backend_is_supervised(const struct backend *backend) {
    return (backend->supervision & SUPERVISE_FILTER) != 0;
}

bool backend_shares_network(const struct backend *backend) {
    return backend->features.session_network;
}

size_t backend_features(const struct backend *backend, struct backend_feature *out) {
    const struct bwrap_features *features = &backend->features;
    const struct backend_feature rows[] = {
        {"sessionNetwork", features->session_network},
        {"mountedBefore", features->mounted_before},
        {"disableUserns", features->disable_userns},
        {"freshProc", features->fresh_proc},
        {"supervised", backend_is_supervised(backend)},
        {"filtered", (backend->supervision & SUPERVISE_UNFILTERED) == 0},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    _Static_assert(sizeof rows / sizeof rows[0] <= BACKEND_FEATURES_MAX, "the caller has room for all");
    for (size_t i = 0; i < count; i++)
        out[i] = rows[i];
    return count;
}

const char *backend_supervision_gap(const struct backend *backend) {
    return backend->supervision_error.text;
}

enum backend_limits backend_limits(const struct backend *backend) {
    if (backend->control_groups.folder != NULL)
        return LIMITS_CGROUP;
    return cost_limits_any(&backend->config.limits) ? LIMITS_PROCESS : LIMITS_NONE;
}

const char *backend_limits_gap(const struct backend *backend) {
    return backend->control_groups.folder != NULL ? "" : backend->control_group_error.text;
}
