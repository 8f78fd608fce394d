#include "policy/settings.h"

#include <stdlib.h>
#include <string.h>

#include "policy/options.h"
#include "policy/settings_srt.h"
#include "tap.h"

#define UNKNOWN ": expected a known key, found an unknown one"
#define ABSENT ": expected to be absent, for it cannot be honoured here ("

static const struct {
    const char *text;
    size_t line, column;
    const char *error; /* what it begins with */
} refused[] = {
    /* the file */
    {"", 1, 1, "expected a JSON object, found an empty file"},
    {" \r\n\t", 1, 1, "expected a JSON object, found an empty file"},
    {"\xef\xbb\xbf", 1, 1, "expected a JSON object, found an empty file"},
    {"null", 1, 1, "expected a JSON object, found null"},
    {" []", 1, 1, "expected a JSON object, found an array"},
    {"\"{}\"", 1, 1, "expected a JSON object, found \"{}\""},
    {"{", 1, 2, "expected JSON, found an error (string or '}' expected near end of file)"},
    {"{}\n x", 2, 2, "expected JSON, found an error (end of file expected near 'x')"},
    {"{} {}", 1, 4, "expected JSON, found an error (end of file expected near '{')"},
    {"{\"allowPty\": false,\n}", 2, 1, "expected JSON, found an error (string or '}' expected near '}')"},
    {"// a comment\n{}", 1, 1, "expected JSON, found an error (invalid token near '/')"},
    {"{\"\xff\": 1}", 1, 2, "expected JSON, found an error (unable to decode byte 0xff"},
    {"\xff\xfe{\0}\0", 1, 1, "expected JSON, found an error (unable to decode byte 0xff"},
    {"{\"network\": {}, \"network\": {}}", 1, 17, "expected JSON, found an error (duplicate object key"},
    {"{\"network\": {\"allowedIPs\": [],\n\"allowed\\u0049Ps\": []}}", 2, 1,
     "expected JSON, found an error (duplicate object key"},
    {"{\"a\\u0000\": 1}", 1, 2, "expected JSON, found an error (NUL byte in object key not supported"},
    {"{\"limits\": 1e999}", 1, 12, "expected JSON, found an error (real number overflow"},
    /* keys */
    {"{\"netwrk\": 1}", 1, 2, "netwrk" UNKNOWN " (did you mean network?)"},
    {"\xef\xbb\xbf{\"netwrk\": 1}", 1, 2, "netwrk" UNKNOWN " (did you mean network?)"},
    {"{\"é\\n\": 1}", 1, 2, "options[\"é\\n\"]" UNKNOWN},
    {"{\"sandbox\": {}}", 1, 2, "sandbox" UNKNOWN},
    {"{\"network\": {\n  \"AllowDomains\": []}}", 2, 3,
     "network.AllowDomains" UNKNOWN " (did you mean network.allowedDomains?)"},
    {"{\"denyRead\": []}", 1, 2, "denyRead" UNKNOWN " (did you mean filesystem.denyRead?)"},
    {"{\"network\": {\"network\": {}}}", 1, 14, "network.network" UNKNOWN " (did you mean network?)"},
    {"{\"$unsupported\": \"x\"}", 1, 2, "$unsupported" UNKNOWN},
    {"{\"$schema\": 1}", 1, 13, "$schema: expected a string"},
    /* what restricts and cannot be honoured */
    {"{\"network\": {\"onAskHost\": true}}", 1, 14,
     "network.onAskHost" ABSENT "a file cannot hold a function)"},
    {"{\"network\": {\"filterRequest\": null}}", 1, 14, "network.filterRequest" ABSENT},
    {"{\"network\": {\"httpProxyPort\": 8080}}", 1, 14,
     "network.httpProxyPort" ABSENT "name an HTTP proxy in network.upstreamProxy)"},
    {"{\"network\": {\"socksProxyPort\": 8080}}", 1, 14, "network.socksProxyPort" ABSENT},
    {"{\"network\": {\"mitmProxy\": {}}}", 1, 14, "network.mitmProxy" ABSENT},
    {"{\"network\": {\"parentProxy\": {\"http\": \"http://p.example.com\"}}}", 1, 14,
     "network.parentProxy" ABSENT},
    {"{\"network\": {\"deniedResolvedAddresses\": [\"192.0.2.7\"]}}", 1, 14,
     "network.deniedResolvedAddresses" ABSENT "name each address in network.deniedDomains"},
    {"{\"network\": {\"strictAllowlist\": true}}", 1, 14, "network.strictAllowlist" ABSENT},
    {"{\"network\": {\"strictAllowlist\": 1}}", 1, 33, "network.strictAllowlist: expected true or false"},
    {"{\"credentials\": {\"files\": [{\"path\": \"~/.netrc\", \"mode\": \"deny\"}]}}", 1, 2,
     "credentials" ABSENT},
    {"{\"network\": {\"deniedDomains\": [\"*\"],\n \"allowedDomains\": [\"example.com\", \"192.0.2.7\"]}}", 2,
     36, "network.allowedDomains[1]: expected a name (\"*\" of network.deniedDomains denies names alone"},
    {"{\"network\": {\"deniedDomains\": [\"*:22\"], \"allowedDomains\": [\"[2001:db8::7]\"]}}", 1, 60,
     "network.allowedDomains[0]: expected a name"},
    /* what options_parse says */
    {"{\"network\": 5}", 1, 13, "network: expected an object, found 5"},
    {"{\"network\": {\"$unsupported\": \"a Set\"}}", 1, 14, "network.$unsupported" UNKNOWN},
    {"{\"network\": {\"allowedDomains\": [\"a.example.com\",\n\"http://b\"]}}", 2, 1,
     "network.allowedDomains[1]: expected a domain pattern, found \"http://b\""},
    {"{\"filesystem\": {\"denyRead\": [\"/a\", [\"/b\"]]}}", 1, 36,
     "filesystem.denyRead[1]: expected a path"},
    {"{\"filesystem\": {\"denyRead\": [\"a\\u0000\"]}}", 1, 30, "filesystem.denyRead[0]: expected a path"},
    {"{\"ignoreViolations\": {\"\": []}}", 1, 22, "ignoreViolations: expected \"*\" or part of a command"},
    {"{\"ignoreViolations\": {\"npm\": [\"x\"], \"npm i\": [\"x\", 1]}}", 1, 52,
     "ignoreViolations[\"npm i\"][1]: expected a non-empty string, found 1"},
    {"{\"monitorReads\": \"yes\"}", 1, 18, "monitorReads: expected true or false"},
};

static void check_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct settings settings;
        struct text_position at = {0};
        struct error err = {0};
        int result = settings_parse(refused[i].text, strlen(refused[i].text), true, &settings, &at, &err);
        ok(result == -1 && err.kind == ERROR_OPTIONS && settings.document == NULL, "%s is refused",
           refused[i].text);
        ok(at.line == refused[i].line && at.column == refused[i].column, "at %zu:%zu, found %zu:%zu",
           refused[i].line, refused[i].column, at.line, at.column);
        if (!ok(strncmp(err.text, refused[i].error, strlen(refused[i].error)) == 0,
                "it says what was expected")) {
            diag("wanted", refused[i].error);
            diag("got", err.text);
        }
    }
}

static const struct {
    const char *text, *document;
    const char *warnings[4];
} accepted[] = {
    {"{}", "{}", {0}},
    {"\xef\xbb\xbf{}\n", "{}", {0}},
    {"{\"$schema\": \"urn:x\", \"monitorReads\": true}", "{\"monitorReads\":true}", {0}},
    {"{\"network\": {\"allowedDomains\": [], \"strictAllowlist\": false, \"parentProxy\": {}}}",
     "{\"network\":{\"allowedDomains\":[]}}",
     {0}},
    {"{\"allowPty\": false, \"enableWeakerNestedSandbox\": false, \"credentials\": {\"files\": []}}",
     "{}",
     {0}},
    {"{\"allowPty\": true,\n\"enableWeakerNestedSandbox\": true,\"network\": {\"allowAllUnixSockets\": "
     "true}}",
     "{\"network\":{}}",
     {"1:2: allowPty has no effect: a terminal needs no permission",
      "2:1: enableWeakerNestedSandbox has no effect: no guarantee is given up on request",
      "2:47: network.allowAllUnixSockets has no effect: name the sockets in network.allowUnixSockets"}},
    {"{\"filesystem\": {\"disabled\": true, \"allowWrite\": [\"src/**\", \"/**\", \"**/x/**\", \"a/*\"], "
     "\"denyRead\": [\"~/**\"]}}",
     "{\"filesystem\":{\"allowWrite\":[\"src\",\"/**\",\"**/x/**\",\"a/*\"],\"denyRead\":[\"~\"]}}",
     {"1:17: filesystem.disabled has no effect: the rules for files always hold"}},
    {"{\"network\": {\"deniedDomains\": [\"*\", \"*:22\"], \"allowedDomains\": [\"example.com\"], "
     "\"allowedIPs\": "
     "[\"192.0.2.7\"]}}",
     "{\"network\":{\"deniedDomains\":[\"*\",\"*:22\"],\"allowedDomains\":[\"example.com\"],\"allowedIPs\":["
     "\"192.0."
     "2.7\"]}}",
     {0}},
    {"{\"network\": {\"deniedDomains\": [\"*:22\"], \"allowedDomains\": [\"192.0.2.7:443\"]}}",
     "{\"network\":{\"deniedDomains\":[\"*:22\"],\"allowedDomains\":[\"192.0.2.7:443\"]}}",
     {0}},
};

static void check_accepted(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        struct settings settings;
        struct text_position at;
        struct error err = {0};
        if (!ok(settings_parse(accepted[i].text, strlen(accepted[i].text), true, &settings, &at, &err) == 0,
                "%s is accepted", accepted[i].text)) {
            diag("error", err.text);
            continue;
        }
        is_str(settings.document, accepted[i].document, "its document");
        size_t count = 0;
        for (; accepted[i].warnings[count] != NULL; count++)
            is_str(count < settings.warnings.count ? settings.warnings.items[count] : NULL,
                   accepted[i].warnings[count], "a warning");
        is_int((long long)settings.warnings.count, (long long)count, "no other warning");
        settings_clear(&settings);
    }
}

static void check_unasked(void) {
    static const char text[] = "{\"network\": {\"strictAllowlist\": true}}";
    struct settings settings;
    struct text_position at;
    is_int(settings_parse(text, strlen(text), false, &settings, &at, NULL), 0,
           "strictAllowlist changes nothing where nobody is asked");
    settings_clear(&settings);
}

static void check_size(void) {
    const size_t size = (16u << 20u) + 1;
    char *text = malloc(size);
    struct settings settings;
    struct text_position at;
    struct error err = {0};
    if (text == NULL)
        return;
    memset(text, ' ', size);
    memcpy(text, "{}", 2);
    is_int(settings_parse(text, size - 1, true, &settings, &at, &err), 0, "16 MiB are accepted");
    settings_clear(&settings);
    is_int(settings_parse(text, size, true, &settings, &at, &err), -1, "one byte more is refused");
    is_str(err.text, "expected at most 16 MiB", "it says so");
    free(text);
}

static void check_rows(void) {
    const struct srt_key *row;
    for (size_t i = 0; (row = srt_key_row(i)) != NULL; i++)
        ok((row->reason != NULL) == (row->action != SRT_NOTE) && srt_key_find(row->group, row->key) == row,
           "%s has one row and a reason", row->key);
}

int main(void) {
    check_refused();
    check_accepted();
    check_unasked();
    check_size();
    check_rows();
    return done_testing();
}
