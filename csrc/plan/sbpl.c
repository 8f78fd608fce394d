#include "plan/sbpl.h"

#include "plan/sbpl_internal.h"
#include "plan/sbpl_tables.h"

struct sbpl_rule sbpl_profile_rule(struct sbpl_profile *profile, const char *head) {
    /* What is allowed is not logged. */
    const char *message = head[0] == 'd' ? profile->request->tag : NULL;
    return (struct sbpl_rule){.out = &profile->text, .head = head, .message = message};
}

static void add_default(struct sbpl_profile *profile) {
    sbpl_text_add(&profile->text, "(version 1)\n(deny default");
    if (profile->request->tag != NULL) {
        sbpl_text_add(&profile->text, " (with message ");
        sbpl_text_add_string(&profile->text, profile->request->tag);
        sbpl_text_add(&profile->text, ")");
    }
    sbpl_text_add(&profile->text, ")\n");
}

static void add_processes(struct sbpl_profile *profile) {
    for (size_t i = 0; i < sbpl_process_row_count; i++) {
        sbpl_text_add(&profile->text, sbpl_process_rows[i].rule);
        sbpl_text_add(&profile->text, "\n");
    }
    struct sbpl_rule services = sbpl_profile_rule(profile, "allow mach-lookup");
    for (size_t i = 0; i < sbpl_mach_service_count; i++)
        sbpl_rule_string(&services, "global-name", sbpl_mach_services[i].rule);
    sbpl_rule_end(&services);
    struct sbpl_rule sysctls = sbpl_profile_rule(profile, "allow sysctl-read");
    for (size_t i = 0; i < sbpl_sysctl_count; i++) {
        sbpl_rule_filter(&sysctls);
        sbpl_text_add(&profile->text, sbpl_sysctls[i].rule);
    }
    sbpl_rule_end(&sysctls);
}

static int add_all(struct sbpl_profile *profile, struct error *err) {
    add_default(profile);
    add_processes(profile);
    sbpl_add_network(profile);
    if (sbpl_add_files(profile, err) != 0 || sbpl_add_allowed_sockets(profile, err) != 0)
        return -1;
    return profile->text.failed ? error_memory(err) : 0;
}

static bool closes_by_default(const struct fs_rules *rules) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_DENY_READ && rules->items[i].origin == FS_STRICT)
            return true;
    return false;
}

int sbpl_from_policy(const struct sbpl_request *request, char **out, struct error *err) {
    struct mount_plan plan;
    if (mount_plan_build(request->rules, &plan, err) != 0)
        return -1;
    struct sbpl_profile profile = {
        .request = request, .plan = &plan, .strict = closes_by_default(request->rules)};
    int result = add_all(&profile, err);
    mount_plan_clear(&plan);
    if (result == 0)
        *out = profile.text.data;
    else
        sbpl_text_clear(&profile.text);
    return result;
}
