#include "policy/option_layers.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "policy/json_util.h"
#include "policy/option_table.h"
#include "tap.h"

static int merge(const char *const *layers, char **merged, struct error *err) {
    struct strvec documents = {0};
    for (; *layers != NULL; layers++)
        if (strvec_push(&documents, *layers) != 0)
            abort();
    int result = options_merge(&documents, merged, err);
    strvec_clear(&documents);
    return result;
}

static const struct {
    const char *name;
    const char *layers[4];
    const char *merged;
} cases[] = {
    {"no layer", {NULL}, "{}"},
    {"one layer is as it was",
     {"{\"network\": {}, \"filesystem\": {\"allowWrite\": []}, \"monitorReads\": false}"},
     "{\"network\": {}, \"filesystem\": {\"allowWrite\": []}, \"monitorReads\": false}"},
    {"denials add up",
     {"{\"filesystem\": {\"denyRead\": [\"/a\"], \"denyWrite\": [\"/b\"]}, \"network\": {\"deniedDomains\": "
      "[\"a.example.com\"]}}",
      "{\"filesystem\": {\"denyRead\": []}}",
      "{\"filesystem\": {\"denyRead\": [\"/c\"], \"denyWrite\": [\"/d\"]}, \"network\": {\"deniedDomains\": "
      "[\"*\"]}}"},
     "{\"filesystem\": {\"denyRead\": [\"/a\", \"/c\"], \"denyWrite\": [\"/b\", \"/d\"]}, \"network\": "
     "{\"deniedDomains\": [\"a.example.com\", \"*\"]}}"},
    {"the smallest limit holds",
     {"{\"limits\": {\"processes\": 7, \"openFiles\": 50}}",
      "{\"limits\": {\"processes\": 9, \"openFiles\": 40}}"},
     "{\"limits\": {\"processes\": 7, \"openFiles\": 40}}"},
    {"a private folder stays, and a working directory that is none",
     {"{\"filesystem\": {\"privateTmp\": true, \"writableCwd\": false}}",
      "{\"filesystem\": {\"privateTmp\": false, \"writableCwd\": true}}"},
     "{\"filesystem\": {\"privateTmp\": true, \"writableCwd\": false}}"},
    {"an allow list replaces the earlier",
     {"{\"filesystem\": {\"allowRead\": [\"/a\"], \"allowWrite\": [\"/a\"], \"allowProtected\": "
      "[\".vscode\"]}, "
      "\"network\": {\"allowedDomains\": [\"a.example.com\"], \"allowedIPs\": [\"192.0.2.1\"], "
      "\"allowUnixSockets\": [\"/a\"]}}",
      "{\"filesystem\": {\"allowRead\": [\"/b\"], \"allowWrite\": [], \"allowProtected\": []}, "
      "\"network\": {\"allowedDomains\": [\"b.example.com\"], \"allowedIPs\": [], \"allowUnixSockets\": "
      "[]}}"},
     "{\"filesystem\": {\"allowRead\": [\"/b\"], \"allowWrite\": [], \"allowProtected\": []}, "
     "\"network\": {\"allowedDomains\": [\"b.example.com\"], \"allowedIPs\": [], \"allowUnixSockets\": []}}"},
    {"what a later layer has not stays",
     {"{\"network\": {\"allowedDomains\": [\"a.example.com\"], \"maxTunnels\": 5}}", "{\"network\": {}}",
      "{}"},
     "{\"network\": {\"allowedDomains\": [\"a.example.com\"], \"maxTunnels\": 5}}"},
    {"strict reads hold, whoever asked for them",
     {"{\"filesystem\": {\"defaultRead\": \"deny\"}}", "{\"filesystem\": {\"defaultRead\": \"allow\"}}"},
     "{\"filesystem\": {\"defaultRead\": \"deny\"}}"},
    {"a later layer can ask for them",
     {"{\"filesystem\": {\"defaultRead\": \"allow\"}}", "{\"filesystem\": {\"defaultRead\": \"deny\"}}"},
     "{\"filesystem\": {\"defaultRead\": \"deny\"}}"},
    {"other values are the later ones",
     {"{\"monitorViolations\": false, \"monitorReads\": true, \"network\": {\"allowLocalBinding\": true, "
      "\"upstreamProxy\": \"direct\", \"maxTunnels\": 5}, \"filesystem\": {\"allowGitConfig\": true}}",
      "{\"monitorViolations\": true, \"monitorReads\": false, \"network\": {\"allowLocalBinding\": false, "
      "\"upstreamProxy\": \"p.example.com:80\", \"maxTunnels\": 6}, \"filesystem\": {\"allowGitConfig\": "
      "false}}"},
     "{\"monitorViolations\": true, \"monitorReads\": false, \"network\": {\"allowLocalBinding\": false, "
     "\"upstreamProxy\": \"p.example.com:80\", \"maxTunnels\": 6}, \"filesystem\": {\"allowGitConfig\": "
     "false}}"},
    {"commands to ignore are replaced one by one",
     {"{\"ignoreViolations\": {\"a\": [\"1\"], \"b\": [\"2\"]}}",
      "{\"ignoreViolations\": {\"b\": [], \"c\": [\"3\"]}}"},
     "{\"ignoreViolations\": {\"a\": [\"1\"], \"b\": [], \"c\": [\"3\"]}}"},
    {"a log that is replaced stays closed",
     {"{\"violationLog\": \"/a\"}", "{\"violationLog\": \"/b\"}", "{\"violationLog\": \"/b\"}"},
     "{\"violationLog\": \"/b\", \"filesystem\": {\"denyWrite\": [\"/a\"]}}"},
};

static void check_cases(void) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *merged = NULL;
        struct error err = {0};
        if (!ok(merge(cases[i].layers, &merged, &err) == 0, "%s", cases[i].name)) {
            diag("error", err.text);
            continue;
        }
        cleanup_json json_t *got = json_loads(merged, JSON_DECODE_INT_AS_REAL, NULL);
        cleanup_json json_t *wanted = json_loads(cases[i].merged, JSON_DECODE_INT_AS_REAL, NULL);
        if (!ok(json_equal(got, wanted), "it is what was wanted"))
            diag("got", merged);
        free(merged);
    }
}

/* An option that no layer may take back would be lost by a row that says nothing. */
static void check_rows(void) {
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++) {
        bool denies = strstr(row->key, "deny") != NULL || strstr(row->key, "denied") != NULL;
        ok(denies == (row->layering == OPTION_LAYER_ADDS), "%s adds up if it denies", row->key);
        ok((strcmp(row->group, "limits") == 0) == (row->layering == OPTION_LAYER_LEAST),
           "%s is a limit if least holds", row->key);
        ok((row->layering == OPTION_LAYER_HOLDS) == (row->held != NULL), "%s has a value if one holds",
           row->key);
    }
}

static void check_refused(void) {
    char *merged = NULL;
    struct error err = {0};
    const char *const layers[] = {"{}", "{\"filesystem\": {\"denyReed\": []}}", NULL};
    is_int(merge(layers, &merged, &err), -1, "a layer that is no document is refused");
    ok(merged == NULL && strncmp(err.text, "filesystem.denyReed: ", 21) == 0, "by the path of what is wrong");
}

int main(void) {
    check_cases();
    check_rows();
    check_refused();
    return done_testing();
}
