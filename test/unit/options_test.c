#include "policy/options.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "policy/json_util.h"
#include "policy/option_table.h"
#include "policy/protected_names.h"
#include "tap.h"

#define ROOT_KEYS                                                                                            \
    "network, filesystem, monitorViolations, ignoreViolations, monitorReads, violationLog, limits, backend"
#define FILESYSTEM_KEYS                                                                                      \
    "denyRead, allowWrite, denyWrite, allowRead, defaultRead, allowGitConfig, allowProtected, "              \
    "writableCwd, privateTmp, packageCache"
#define AMOUNT "a whole number from 1 to 9007199254740991"
#define LATER ": not supported by this version"
#define NOT_A_PATH "expected a path, found "
#define NOT_ALLOW_OR_DENY "expected \"allow\" or \"deny\", found "
#define NOT_A_PROXY "expected \"direct\" or the URL of an HTTP proxy, found "
#define NOT_A_COUNT "expected a whole number from 1 to 65536, found "
#define NOT_PROTECTED "expected a protected name such as \".vscode/\", found "
#define HOME_REASON " (only \"~\" and \"~/…\" stand for a home directory)"

static const struct {
    const char *json;
    const char *error;
} refused[] = {
    /* the document and the objects */
    {"null", "options: expected an object, found null"},
    {"[]", "options: expected an object, found an array"},
    {"\"x\"", "options: expected an object, found \"x\""},
    {"7", "options: expected an object, found 7"},
    {"true", "options: expected an object, found true"},
    {"{\"$unsupported\":\"a Set\"}", "options: expected an object, found a Set"},
    {"{\"network\":null}", "network: expected an object, found null"},
    {"{\"network\":[]}", "network: expected an object, found an array"},
    {"{\"filesystem\":false}", "filesystem: expected an object, found false"},
    {"{\"filesystem\":{\"$unsupported\":\"a Map\"}}", "filesystem: expected an object, found a Map"},
    {"{\"limits\":1}", "limits: expected an object, found 1"},
    /* unknown keys */
    {"{\"sandbox\":true}", "sandbox: expected one of " ROOT_KEYS ", found an unknown option"},
    {"{\"filesystem\":{\"denyreed\":[]}}",
     "filesystem.denyreed: expected one of " FILESYSTEM_KEYS ", found an unknown option"},
    {"{\"filesystem\":{\"a b\\n\":1}}",
     "filesystem[\"a b\\n\"]: expected one of " FILESYSTEM_KEYS ", found an unknown option"},
    {"{\"filesystem.denyRead\":[]}",
     "options[\"filesystem.denyRead\"]: expected one of " ROOT_KEYS ", found an unknown option"},
    {"{\"\":1}", "options[\"\"]: expected one of " ROOT_KEYS ", found an unknown option"},
    {"{\"denyRead\":[]}", "denyRead: expected one of " ROOT_KEYS ", found an unknown option"},
    {"{\"$unsupported\":1}", "$unsupported: expected one of " ROOT_KEYS ", found an unknown option"},
    {"{\"filesystem\":{\"$unsupported\":null}}",
     "filesystem.$unsupported: expected one of " FILESYSTEM_KEYS ", found an unknown option"},
    /* paths */
    {"{\"filesystem\":{\"denyRead\":\"/x\"}}", "filesystem.denyRead: expected a list of paths, found \"/x\""},
    {"{\"filesystem\":{\"denyRead\":{\"$unsupported\":\"a Set\"}}}",
     "filesystem.denyRead: expected a list of paths, found a Set"},
    {"{\"filesystem\":{\"denyRead\":{}}}", "filesystem.denyRead: expected a list of paths, found an object"},
    {"{\"filesystem\":{\"denyRead\":null}}", "filesystem.denyRead: expected a list of paths, found null"},
    {"{\"filesystem\":{\"allowWrite\":[\"/a\",5]}}", "filesystem.allowWrite[1]: " NOT_A_PATH "5"},
    {"{\"filesystem\":{\"allowWrite\":[null]}}", "filesystem.allowWrite[0]: " NOT_A_PATH "null"},
    {"{\"filesystem\":{\"allowWrite\":[[]]}}", "filesystem.allowWrite[0]: " NOT_A_PATH "an array"},
    {"{\"filesystem\":{\"allowWrite\":[true]}}", "filesystem.allowWrite[0]: " NOT_A_PATH "true"},
    {"{\"filesystem\":{\"allowWrite\":[{\"$unsupported\":\"undefined\"}]}}",
     "filesystem.allowWrite[0]: " NOT_A_PATH "undefined"},
    {"{\"filesystem\":{\"denyWrite\":[\"\"]}}", "filesystem.denyWrite[0]: " NOT_A_PATH "\"\" (it is empty)"},
    {"{\"filesystem\":{\"denyWrite\":[\"a\\u0000b\"]}}",
     "filesystem.denyWrite[0]: " NOT_A_PATH "\"a\\u0000b\" (it contains a NUL character)"},
    {"{\"filesystem\":{\"denyWrite\":[\"\\u0000\"]}}",
     "filesystem.denyWrite[0]: " NOT_A_PATH "\"\\u0000\" (it contains a NUL character)"},
    {"{\"filesystem\":{\"denyWrite\":[\"~bob/x\"]}}",
     "filesystem.denyWrite[0]: " NOT_A_PATH "\"~bob/x\"" HOME_REASON},
    {"{\"filesystem\":{\"denyWrite\":[\"~bob\"]}}",
     "filesystem.denyWrite[0]: " NOT_A_PATH "\"~bob\"" HOME_REASON},
    {"{\"network\":{\"allowUnixSockets\":[\"~~\"]}}",
     "network.allowUnixSockets[0]: " NOT_A_PATH "\"~~\"" HOME_REASON},
    {"{\"network\":{\"allowUnixSockets\":true}}",
     "network.allowUnixSockets: expected a list of paths, found true"},
    /* network */
    {"{\"network\":{\"allowedDomains\":[\"a.example.com\",\"*\",\"http://x\"]}}",
     "network.allowedDomains[2]: expected a domain pattern, found \"http://x\" (schemes are not part of a "
     "pattern)"},
    {"{\"network\":{\"deniedDomains\":[\"example.*\"]}}",
     "network.deniedDomains[0]: expected a domain pattern, found \"example.*\" (\"*\" cannot be the end of a "
     "name)"},
    {"{\"network\":{\"deniedDomains\":[\"\"]}}",
     "network.deniedDomains[0]: expected a domain pattern, found \"\" (it is empty)"},
    {"{\"network\":{\"allowedDomains\":[\"example.com\\u0000.example.org\"]}}",
     "network.allowedDomains[0]: expected a domain pattern, found \"example.com\\u0000.example.org\" (it "
     "contains a NUL character)"},
    {"{\"network\":{\"allowedDomains\":\"*\"}}",
     "network.allowedDomains: expected a list of domain patterns, found \"*\""},
    {"{\"network\":{\"allowLocalBinding\":1}}", "network.allowLocalBinding: expected true or false, found 1"},
    {"{\"network\":{\"allowLocalBinding\":\"true\"}}",
     "network.allowLocalBinding: expected true or false, found \"true\""},
    {"{\"network\":{\"onAskHost\":false}}", "network.onAskHost: expected a function, found false"},
    {"{\"network\":{\"onAskHost\":null}}", "network.onAskHost: expected a function, found null"},
    {"{\"network\":{\"onAskHost\":{\"$unsupported\":\"true\"}}}",
     "network.onAskHost: expected a function, found true"},
    {"{\"network\":{\"allowedIPs\":[\"192.0.2.7\",\"10/8\"]}}",
     "network.allowedIPs[1]: expected an address or a block of addresses, found \"10/8\" (an IPv4 block is "
     "written with four decimal parts: 192.0.2.0/24)"},
    {"{\"network\":{\"allowedIPs\":[\"192.0.2.7/24\"]}}",
     "network.allowedIPs[0]: expected an address or a block of addresses, found \"192.0.2.7/24\" (bits "
     "behind "
     "the prefix length are set: did you mean 192.0.2.0/24?)"},
    {"{\"network\":{\"allowedIPs\":[7]}}",
     "network.allowedIPs[0]: expected an address or a block of addresses, found 7"},
    {"{\"network\":{\"allowedIPs\":\"192.0.2.7\"}}",
     "network.allowedIPs: expected a list of addresses and blocks of them, found \"192.0.2.7\""},
    {"{\"network\":{\"upstreamProxy\":\"\"}}",
     "network.upstreamProxy: " NOT_A_PROXY "a string (it is empty)"},
    {"{\"network\":{\"upstreamProxy\":\"Direct\"}}",
     "network.upstreamProxy: " NOT_A_PROXY
     "a string (there is no port: write http://host:port or host:port)"},
    {"{\"network\":{\"upstreamProxy\":\"socks5://user:secret@proxy.example.com\"}}",
     "network.upstreamProxy: " NOT_A_PROXY
     "a string (the connection to the proxy is plain HTTP: http://host:port)"},
    {"{\"network\":{\"upstreamProxy\":false}}", "network.upstreamProxy: " NOT_A_PROXY "false"},
    {"{\"network\":{\"upstreamProxy\":\"http://proxy.example.com\\u0000\"}}",
     "network.upstreamProxy: " NOT_A_PROXY "a string (it contains a NUL character)"},
    {"{\"network\":{\"maxTunnels\":0}}", "network.maxTunnels: " NOT_A_COUNT "0"},
    {"{\"network\":{\"maxTunnels\":65537}}", "network.maxTunnels: " NOT_A_COUNT "65537"},
    {"{\"network\":{\"maxTunnels\":-1}}", "network.maxTunnels: " NOT_A_COUNT "-1"},
    {"{\"network\":{\"maxTunnels\":1.5}}", "network.maxTunnels: " NOT_A_COUNT "1.5"},
    {"{\"network\":{\"maxTunnels\":1e300}}", "network.maxTunnels: " NOT_A_COUNT "1e+300"},
    {"{\"network\":{\"maxTunnels\":\"8\"}}", "network.maxTunnels: " NOT_A_COUNT "\"8\""},
    {"{\"network\":{\"maxTunnels\":true}}", "network.maxTunnels: " NOT_A_COUNT "true"},
    {"{\"network\":{\"maxTunnels\":null}}", "network.maxTunnels: " NOT_A_COUNT "null"},
    /* violations */
    {"{\"monitorViolations\":null}", "monitorViolations: expected true or false, found null"},
    {"{\"monitorViolations\":0.5}", "monitorViolations: expected true or false, found 0.5"},
    {"{\"monitorViolations\":1e300}", "monitorViolations: expected true or false, found 1e+300"},
    {"{\"monitorViolations\":100000000000000000000}",
     "monitorViolations: expected true or false, found 1e+20"},
    {"{\"ignoreViolations\":[]}", "ignoreViolations: expected an object of lists of strings, found an array"},
    {"{\"ignoreViolations\":{\"$unsupported\":\"a Map\"}}",
     "ignoreViolations: expected an object of lists of strings, found a Map"},
    {"{\"ignoreViolations\":{\"git\":\"x\"}}",
     "ignoreViolations.git: expected a list of non-empty strings, found \"x\""},
    {"{\"ignoreViolations\":{\"*\":[\"a\"],\"npm \\\"test\\\"\":[\"x\",\"\"]}}",
     "ignoreViolations[\"npm \\\"test\\\"\"][1]: expected a non-empty string, found \"\" (it is empty)"},
    {"{\"ignoreViolations\":{\"*\":[\"a\\u0000\"]}}",
     "ignoreViolations[\"*\"][0]: expected a non-empty string, found \"a\\u0000\" (it contains a NUL "
     "character)"},
    {"{\"ignoreViolations\":{\"*\":[7]}}",
     "ignoreViolations[\"*\"][0]: expected a non-empty string, found 7"},
    {"{\"ignoreViolations\":{\"\":[]}}",
     "ignoreViolations: expected \"*\" or part of a command as key, found \"\""},
    {"{\"filesystem\":{\"allowRead\":\"/x\"}}",
     "filesystem.allowRead: expected a list of paths, found \"/x\""},
    {"{\"filesystem\":{\"allowRead\":{\"$unsupported\":\"a Set\"}}}",
     "filesystem.allowRead: expected a list of paths, found a Set"},
    {"{\"filesystem\":{\"allowRead\":[\"~bob/x\"]}}",
     "filesystem.allowRead[0]: " NOT_A_PATH "\"~bob/x\"" HOME_REASON},
    {"{\"filesystem\":{\"defaultRead\":\"no\"}}", "filesystem.defaultRead: " NOT_ALLOW_OR_DENY "\"no\""},
    {"{\"filesystem\":{\"defaultRead\":\"Deny\"}}", "filesystem.defaultRead: " NOT_ALLOW_OR_DENY "\"Deny\""},
    {"{\"filesystem\":{\"defaultRead\":true}}", "filesystem.defaultRead: " NOT_ALLOW_OR_DENY "true"},
    {"{\"filesystem\":{\"defaultRead\":null}}", "filesystem.defaultRead: " NOT_ALLOW_OR_DENY "null"},
    {"{\"filesystem\":{\"defaultRead\":\"\"}}",
     "filesystem.defaultRead: " NOT_ALLOW_OR_DENY "\"\" (it is empty)"},
    {"{\"filesystem\":{\"allowGitConfig\":1}}", "filesystem.allowGitConfig: expected true or false, found 1"},
    {"{\"filesystem\":{\"allowProtected\":\".vscode/\"}}",
     "filesystem.allowProtected: expected a list of protected names, found \".vscode/\""},
    {"{\"filesystem\":{\"allowProtected\":[\".vscode/\",\"src/\"]}}",
     "filesystem.allowProtected[1]: " NOT_PROTECTED "\"src/\""},
    {"{\"filesystem\":{\"allowProtected\":[7]}}", "filesystem.allowProtected[0]: " NOT_PROTECTED "7"},
    {"{\"filesystem\":{\"allowProtected\":[\".git/hooks/\"]}}",
     "filesystem.allowProtected[0]: " NOT_PROTECTED "\".git/hooks/\" (hooks cannot be freed)"},
    {"{\"filesystem\":{\"allowProtected\":[\"hooks\"]}}",
     "filesystem.allowProtected[0]: " NOT_PROTECTED "\"hooks\" (hooks cannot be freed)"},
    {"{\"filesystem\":{\"allowProtected\":[\".git/config\"]}}",
     "filesystem.allowProtected[0]: " NOT_PROTECTED "\".git/config\" (see allowGitConfig)"},
    {"{\"monitorReads\":\"yes\"}", "monitorReads: expected true or false, found \"yes\""},
    {"{\"violationLog\":null}", "violationLog: expected an absolute path, found null"},
    {"{\"violationLog\":[\"/x\"]}", "violationLog: expected an absolute path, found an array"},
    {"{\"violationLog\":\"\"}", "violationLog: expected an absolute path, found \"\" (it is empty)"},
    {"{\"violationLog\":\"/a\\u0000b\"}",
     "violationLog: expected an absolute path, found \"/a\\u0000b\" (it contains a NUL character)"},
    {"{\"violationLog\":\"logs/x\"}",
     "violationLog: expected an absolute path, found \"logs/x\" (a sandbox has "
     "no directory that it would be relative to)"},
    {"{\"violationLog\":\"~bob/x\"}",
     "violationLog: expected an absolute path, found \"~bob/x\"" HOME_REASON},
    {"{\"limits\":{\"memoryBytes\":0}}", "limits.memoryBytes: expected " AMOUNT ", found 0"},
    {"{\"limits\":{\"processes\":-1}}", "limits.processes: expected " AMOUNT ", found -1"},
    {"{\"limits\":{\"cpuSeconds\":0.5}}", "limits.cpuSeconds: expected " AMOUNT ", found 0.5"},
    {"{\"limits\":{\"fileBytes\":9007199254740992}}",
     "limits.fileBytes: expected " AMOUNT ", found 9.00719925474099e+15"},
    {"{\"limits\":{\"openFiles\":\"8\"}}", "limits.openFiles: expected " AMOUNT ", found \"8\""},
    {"{\"limits\":{\"files\":8}}",
     "limits.files: expected one of memoryBytes, processes, cpuSeconds, fileBytes, "
     "openFiles, found an unknown option"},
    /* later parts */
    {"{\"backend\":\"seatbelt\"}", "backend" LATER},
    {"{\"backend\":null}", "backend" LATER},
    /* what is shown of a value */
    {"{\"monitorViolations\":\"a\\tb\\u001b[31m\\u0085\\u202e\\\"\\\\\"}",
     "monitorViolations: expected true or false, found \"a\\u0009b\\u001b[31m\\u0085\\u202e\\\"\\\\\""},
    {"{\"monitorViolations\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
     "monitorViolations: expected true or false, found "
     "\"012345678901234567890123456789012345678901234567890123456789012345…\""},
    /* no document at all */
    {"", "options: expected one JSON document, found an error at byte 0 (unexpected token near end of "
         "file)"},
    {"{\"network\":{},\"network\":{}}",
     "options: expected one JSON document, found an error at byte 23 (duplicate object key near "
     "'\"network\"')"},
};

static const char *const accepted[] = {
    "{}",
    " { } ",
    "{\"network\":{},\"filesystem\":{},\"limits\":{},\"ignoreViolations\":{}}",
    "{\"filesystem\":{\"denyRead\":[\"~\",\"~/\",\"~/x\",\"a/../b\",\"./~bob\",\"/\",\" \",\"*.env\"]}}",
    "{\"network\":{\"allowedIPs\":[]}}",
    "{\"network\":{\"allowedIPs\":[\"0.0.0.0/0\",\"::/0\",\"127.1:80\",\"[2001:db8::/32]:443\"]}}",
    "{\"network\":{\"upstreamProxy\":\"http://user:secret@proxy.example.com:3128\"}}",
    "{\"network\":{\"upstreamProxy\":\"proxy.example.com:3128\"}}",
    "{\"network\":{\"maxTunnels\":1}}",
    "{\"network\":{\"maxTunnels\":65536.0}}",
    "{\"filesystem\":{\"allowRead\":[],\"allowProtected\":[],\"defaultRead\":\"allow\",\"allowGitConfig\":"
    "false}}",
    "{\"filesystem\":{\"allowProtected\":[\".vscode\",\".vscode/\",\".bashrc\"]}}",
    "{\"monitorReads\":false,\"backend\":\"auto\"}",
    "{\"violationLog\":\"~\"}",
    "{\"violationLog\":\"/a/../b.log\"}",
    "{\"backend\":\"bwrap\"}",
    "{\"ignoreViolations\":{\"$unsupported\":[\"x\"]}}",
};

static int parse(const char *json, struct options **out, struct error *err) {
    /* No NUL behind the text: an over-read is seen by the sanitizer. */
    size_t length = strlen(json);
    char *exact = malloc(length == 0 ? 1 : length);
    if (exact == NULL)
        abort();
    memcpy(exact, json, length);
    int result = options_parse(exact, length, out, err);
    free(exact);
    return result;
}

static void refuses(const char *json, const char *message) {
    struct options *options = NULL;
    struct error err = {0};
    int result = parse(json, &options, &err);
    bool same =
        result == -1 && err.kind == ERROR_OPTIONS && options == NULL && strcmp(err.text, message) == 0;
    if (!ok(same, "%s", message)) {
        diag("document", json);
        diag("got", err.text);
    }
    options_free(options);
}

static void accepts(const char *json) {
    struct options *options = NULL;
    struct error err = {0};
    if (!ok(parse(json, &options, &err) == 0 && options != NULL, "accepted: %s", json))
        diag("got", err.text);
    options_free(options);
}

static void keeps_every_value(void) {
    struct options *o = NULL;
    parse("{\"network\":{\"allowedDomains\":[\"*.Example.com:443\"],\"deniedDomains\":[\"x.example.com\"],"
          "\"allowUnixSockets\":[\"/run/x.sock\",\"~/y\"],\"allowLocalBinding\":true,\"onAskHost\":true,"
          "\"allowedIPs\":[\"192.0.2.0/24:443\"],\"upstreamProxy\":\"direct\",\"maxTunnels\":77},"
          "\"filesystem\":{\"denyRead\":[\"/a\"],\"allowWrite\":[\"b\"],\"denyWrite\":[\"~/c\",\"\\u00e9\"],"
          "\"allowRead\":[\"~/.ssh/known_hosts\"],\"defaultRead\":\"deny\",\"allowGitConfig\":true,"
          "\"allowProtected\":[\".vscode/\",\".bashrc\"]},"
          "\"monitorViolations\":false,\"monitorReads\":true,\"violationLog\":\"~/v.log\","
          "\"ignoreViolations\":{\"*\":[\"l1\",\"l2\"],\"git status\":[]}}",
          &o, NULL);
    if (!ok(o != NULL, "a full document is accepted"))
        return;
    is_str(o->network.allowed_domains.items[0], "*.Example.com:443", "allowedDomains are kept as written");
    is_str(o->network.denied_domains.items[0], "x.example.com", "deniedDomains are kept");
    is_str(o->network.allow_unix_sockets.items[1], "~/y", "allowUnixSockets are kept");
    ok(o->network.allow_local_binding, "allowLocalBinding is kept");
    ok(o->network.has_ask, "onAskHost is noted");
    is_str(o->network.allowed_ips.items[0], "192.0.2.0/24:443", "allowedIPs are kept as written");
    is_str(o->network.upstream_proxy, "direct", "upstreamProxy is kept as written");
    is_int(o->network.max_tunnels, 77, "maxTunnels is kept");
    is_str(o->fs.deny_read.items[0], "/a", "denyRead is kept");
    is_str(o->fs.allow_write.items[0], "b", "allowWrite is kept");
    is_int((long long)o->fs.deny_write.count, 3, "denyWrite has all entries, and the log");
    is_str(o->fs.deny_write.items[1], "\xc3\xa9", "entries are UTF-8");
    is_str(o->fs.deny_write.items[2], "~/v.log", "the log is write-denied");
    is_str(o->violation_log, "~/v.log", "violationLog is kept");
    is_str(o->fs.allow_read.items[0], "~/.ssh/known_hosts", "allowRead is kept");
    ok(fs_options_are_strict(&o->fs), "defaultRead is kept");
    ok(o->fs.allow_git_config, "allowGitConfig is kept");
    uint64_t freed = 0;
    for (size_t i = 0; i < protected_name_count; i++)
        if (strcmp(protected_names[i].path, ".vscode") == 0 ||
            strcmp(protected_names[i].path, ".bashrc") == 0)
            freed |= (uint64_t)1 << i;
    ok(freed != 0 && fs_options_freed_names(&o->fs) == freed,
       "allowProtected becomes the rows that it names");
    ok(!o->monitor_violations, "monitorViolations is kept");
    ok(o->monitor_reads, "monitorReads is kept");
    is_int((long long)o->ignore_count, 2, "ignoreViolations has all keys");
    is_str(o->ignore[0].command, "*", "a rule has its command");
    is_str(o->ignore[0].lines.items[1], "l2", "a rule has its lines");
    is_int((long long)o->ignore[1].lines.count, 0, "a rule may have no line");
    options_free(o);
}

static void has_defaults(void) {
    struct options *o = NULL;
    parse("{}", &o, NULL);
    if (!ok(o != NULL, "an empty document is accepted"))
        return;
    ok(o->monitor_violations, "monitorViolations is on by default");
    ok(!o->monitor_reads && o->violation_log == NULL && o->fs.deny_write.count == 0,
       "monitorReads is off by default, and there is no log");
    ok(!fs_options_are_strict(&o->fs) && !o->fs.allow_git_config && fs_options_freed_names(&o->fs) == 0,
       "reading is open by default, and no protected name is free");
    ok(!o->network.allow_local_binding && !o->network.has_ask, "local binding and questions are off");
    ok(o->network.upstream_proxy == NULL && o->network.max_tunnels == 0 && o->network.allowed_ips.count == 0,
       "the upstream proxy is the host's own, and tunnels have the usual limit");
    is_int((long long)(o->fs.deny_read.count + o->network.allowed_domains.count + o->ignore_count), 0,
           "lists are empty by default");
    options_free(o);
    options_free(NULL);
}

/* prefix + count times item, separated by commas + suffix; the caller frees. */
static char *repeated(const char *prefix, const char *item, size_t count, const char *suffix) {
    char *text = malloc(strlen(prefix) + count * (strlen(item) + 1) + strlen(suffix) + 1);
    if (text == NULL)
        abort();
    char *end = stpcpy(text, prefix);
    for (size_t i = 0; i < count; i++) {
        end = stpcpy(end, item);
        if (item[1] != '\0' && i + 1 < count)
            *end++ = ',';
    }
    strcpy(end, suffix);
    return text;
}

static void has_limits(void) {
    struct options *options = NULL;
    struct error err = {0};
    char *text = repeated("{\"filesystem\":{\"denyRead\":[", "\"/a\"", OPTION_LIST_MAX, "]}}");
    is_int(parse(text, &options, &err), 0, "a list may have 10000 entries");
    options_free(options);
    free(text);

    text = repeated("{\"filesystem\":{\"denyRead\":[", "\"/a\"", OPTION_LIST_MAX + 1, "]}}");
    refuses(text, "filesystem.denyRead: expected at most 10000 entries, found 10001");
    free(text);

    text = repeated("{\"filesystem\":{\"denyRead\":[\"/", "a", 4094, "\"]}}");
    is_int(parse(text, &options, &err), 0, "a path may have 4095 bytes");
    options_free(options);
    free(text);

    text = repeated("{\"filesystem\":{\"denyRead\":[\"/", "a", 4095, "\"]}}");
    is_int(parse(text, &options, &err), -1, "a path may not have 4096 bytes");
    ok(strstr(err.text, "… (a path has at most 4095 bytes)") == NULL &&
           strstr(err.text, "…\" (a path has at most 4095 bytes)") != NULL,
       "a long path is shown shortened");
    free(text);

    text = repeated("{\"ignoreViolations\":{\"*\":[\"", "a", OPTION_STRING_MAX + 1, "\"]}}");
    is_int(parse(text, &options, &err), -1, "a string over the limit is refused");
    ok(strstr(err.text, "(it is too long)") != NULL, "and the error says why");
    free(text);

    text = repeated("{\"ignoreViolations\":{\"", "a", OPTION_STRING_MAX + 1, "\":[]}}");
    refuses(text, "ignoreViolations: expected keys of at most 65536 bytes, found one of 65537");
    free(text);

    text = repeated("", " ", OPTION_DOCUMENT_MAX, "{}");
    refuses(text, "options: expected at most 16777216 bytes, found 16777218");
    free(text);

    text = repeated("", "[", 5000, "");
    is_int(parse(text, &options, &err), -1, "nesting without end is refused");
    free(text);
}

static void syntax_errors_are_printable(void) {
    struct error err = {0};
    struct options *options = NULL;
    const char *const bad[] = {"{",    "{\"a\":\x1b}",     "\xff",
                               "{} x", "{\"a\\u0000\":1}", "{\"a\":\"\xed\xa0\x80\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        is_int(parse(bad[i], &options, &err), -1, "a malformed document is refused");
        ok(strncmp(err.text, "options: expected one JSON document", 35) == 0 &&
               strpbrk(err.text, "\x1b\n\xff") == NULL,
           "and its error is printable");
    }
}

static void escaping_keeps_characters_whole(void) {
    char out[JSON_FOUND_SIZE];
    json_escape_text("\xf0\x9f\x98\x80 \xff\xc3", 7, true, out, sizeof out);
    is_str(out, "\"\xf0\x9f\x98\x80 \\xff\\xc3\"", "bytes that are not UTF-8 become \\xNN");
    json_escape_text("ab\"", 3, false, out, sizeof out);
    is_str(out, "ab\"", "without quotes nothing printable is escaped");
    bool whole = true;
    for (size_t size = 8; size < 20; size++) {
        json_escape_text("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 12, true, out, size);
        json_t *read_back = json_loads(out, JSON_DECODE_ANY, NULL);
        whole = whole && strlen(out) < size && read_back != NULL;
        json_decref(read_back);
    }
    ok(whole, "a cut text stays UTF-8 at every size");
    json_escape_text("123456", 6, false, out, 8);
    is_str(out, "123456", "what fits is not cut");
    json_escape_text("12345678", 8, false, out, 8);
    is_str(out, "1234…", "what does not fit ends with an ellipsis");
}

static void the_schema_is_the_table(void) {
    char *text = options_schema_json();
    json_t *schema = text == NULL ? NULL : json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *root = json_object_get(json_object_get(schema, "options"), "keys");
    const struct option_row *row;
    bool complete = true;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++) {
        const json_t *keys =
            *row->group == '\0' ? root : json_object_get(json_object_get(root, row->group), "keys");
        const char *kind = json_string_value(json_object_get(json_object_get(keys, row->key), "kind"));
        complete = complete && kind != NULL && strcmp(kind, option_kind_name(row->kind)) == 0;
        json_t *inert = row->inert == NULL ? NULL : json_loads(row->inert, 0, NULL);
        complete = complete && (row->inert == NULL || json_is_array(inert));
        json_decref(inert);
    }
    ok(complete, "the schema has every row with its kind");
    is_int(json_integer_value(json_object_get(json_object_get(schema, "limits"), "entries")), OPTION_LIST_MAX,
           "the schema has the limit of entries");
    json_decref(schema);
    free(text);
}

/* Allocations that are left before one fails; jansson's allocator takes no context. */
static size_t allocations_left;

static void *failing_malloc(size_t size) {
    return allocations_left == 0 ? NULL : (allocations_left--, malloc(size));
}

static void memory_that_runs_out_is_an_error(void) {
    const char *json =
        "{\"filesystem\":{\"allowRead\":[\"/c\"],\"defaultRead\":\"deny\",\"denyRead\":[\"/a\",\"/"
        "b\"]},\"violationLog\":\"/v\",\"ignoreViolations\":{\"*\":[\"x\"]}}";
    json_set_alloc_funcs(failing_malloc, free);
    size_t failures = 0, memory_errors = 0;
    bool clean = true;
    for (size_t allowed = 0;; allowed++) {
        struct options *options = NULL;
        struct error err = {0};
        allocations_left = allowed;
        if (parse(json, &options, &err) == 0) {
            options_free(options);
            break;
        }
        failures++;
        clean = clean && options == NULL && err.kind != ERROR_NONE && err.text[0] != '\0';
        memory_errors += err.kind == ERROR_MEMORY ? 1 : 0;
    }
    for (size_t allowed = 0;; allowed++) {
        allocations_left = allowed;
        char *schema = options_schema_json();
        free(schema);
        if (schema != NULL)
            break;
        failures++;
    }
    json_set_alloc_funcs(malloc, free);
    ok(failures > 20 && clean, "memory that runs out at any allocation is an error and leaves nothing");
    ok(memory_errors > 0, "and the error says so where the JSON library does");
}

int main(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuses(refused[i].json, refused[i].error);
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        accepts(accepted[i]);
    keeps_every_value();
    has_defaults();
    has_limits();
    syntax_errors_are_printable();
    escaping_keeps_characters_whole();
    the_schema_is_the_table();
    memory_that_runs_out_is_an_error();
    return done_testing();
}
