#include "policy/runtime_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"

/* Not here: what tells of users (/etc/passwd, /home, /root), of other programs' data (/srv, /var), or of the
 * machine (/sys, /run, /boot). */
static const struct runtime_row {
    const char *path;
    const char *read_by; /* the source of the row */
} rows[] = {
    {"/usr/bin", "hier(7): programs"},
    {"/usr/sbin", "hier(7): programs"},
    {"/bin", "hier(7): programs, where /usr is not merged"},
    {"/sbin", "hier(7): programs, where /usr is not merged"},
    {"/usr/lib", "hier(7): libraries, and what programs run themselves"},
    {"/usr/lib32", "hier(7): libraries"},
    {"/usr/lib64", "hier(7): libraries"},
    {"/usr/libx32", "hier(7): libraries"},
    {"/usr/libexec", "hier(7): what programs run themselves"},
    {"/lib", "hier(7): libraries, where /usr is not merged"},
    {"/lib32", "hier(7): libraries, where /usr is not merged"},
    {"/lib64", "hier(7): the dynamic linker, where /usr is not merged"},
    {"/libx32", "hier(7): libraries, where /usr is not merged"},
    {"/usr/include", "gcc(1): headers"},
    {"/usr/local/bin", "hier(7): programs"},
    {"/usr/local/sbin", "hier(7): programs"},
    {"/usr/local/lib", "hier(7): libraries"},
    {"/usr/local/lib64", "hier(7): libraries"},
    {"/usr/local/libexec", "hier(7): what programs run themselves"},
    {"/usr/local/include", "gcc(1): headers"},
    {"/usr/local/share/ca-certificates", "update-ca-certificates(8)"},
    {"/usr/share/ca-certificates", "update-ca-certificates(8): what /etc/ssl/certs links to"},
    {"/usr/share/pki", "update-ca-trust(8)"},
    {"/usr/share/locale", "locale(7), gettext: messages"},
    {"/usr/share/zoneinfo", "tzfile(5)"},
    {"/usr/share/terminfo", "terminfo(5)"},
    {"/usr/share/misc", "file(1): magic"},
    {"/usr/share/git-core", "git-init(1): templates"},
    {"/usr/share/nodejs", "Debian's node modules"},
    {"/usr/share/node_modules", "Fedora's node modules"},
    {"/usr/share/npm", "Debian's npm"},
    {"/usr/share/python3", "Debian's python3: byte compilation"},
    {"/usr/share/python-wheels", "Debian's ensurepip"},
    {"/usr/share/perl", "perlrun(1): @INC"},
    {"/usr/share/perl5", "perlrun(1): @INC"},
    {"/usr/share/ruby", "ruby(1): load path"},
    {"/usr/share/java", "Debian's jars"},
    {"/usr/share/cmake", "cmake(1): modules"},
    {"/usr/share/pkgconfig", "pkg-config(1)"},
    {"/usr/share/aclocal", "aclocal(1): macros"},
    {"/usr/share/autoconf", "autoconf(1)"},
    {"/etc/ld.so.cache", "ld.so(8)"},
    {"/etc/ld.so.conf", "ldconfig(8)"},
    {"/etc/ld.so.conf.d", "ldconfig(8)"},
    {"/etc/ld.so.preload", "ld.so(8)"},
    {"/etc/ld-musl-x86_64.path", "musl's dynamic linker"},
    {"/etc/ld-musl-aarch64.path", "musl's dynamic linker"},
    {"/etc/ssl/certs", "OpenSSL: CA certificates"},
    {"/etc/ssl/openssl.cnf", "config(5ssl)"},
    {"/etc/ssl/cert.pem", "LibreSSL, Alpine: CA certificates"},
    {"/etc/ca-certificates", "update-ca-certificates(8)"},
    {"/etc/pki/tls/certs", "Fedora: CA certificates"},
    {"/etc/pki/tls/openssl.cnf", "config(5ssl)"},
    {"/etc/pki/ca-trust", "update-ca-trust(8)"},
    {"/etc/crypto-policies", "crypto-policies(7)"},
    {"/etc/nsswitch.conf", "nsswitch.conf(5)"},
    {"/etc/hosts", "hosts(5)"},
    {"/etc/host.conf", "host.conf(5)"},
    {"/etc/resolv.conf", "resolv.conf(5)"},
    {"/etc/gai.conf", "gai.conf(5)"},
    {"/etc/services", "services(5)"},
    {"/etc/protocols", "protocols(5)"},
    {"/etc/localtime", "localtime(5)"},
    {"/etc/timezone", "Debian: the zone's name"},
    {"/etc/locale.conf", "locale.conf(5)"},
    {"/etc/locale.alias", "locale(7)"},
    {"/etc/default/locale", "locale(7), Debian"},
    {"/etc/alternatives", "update-alternatives(1): what links in /usr/bin lead to"},
    {"/etc/os-release", "os-release(5)"},
    {"/etc/gitconfig", "git-config(1)"},
    {"/etc/inputrc", "readline(3)"},
    {"/etc/terminfo", "terminfo(5)"},
    {"/etc/mime.types", "Python's mimetypes"},
    {"/etc/profile", "sh(1), bash(1)"},
    {"/etc/profile.d", "sh(1), bash(1)"},
    {"/etc/python3", "Debian's python3"},
    {"/etc/perl", "Debian's perl: @INC"},
};

/* What the rules are about: each has an installation of its own on many hosts. */
static const char *const programs[] = {"node", "python3", "git"};

/* Folders that hold programs, and so stand in an installation of theirs. */
static const char *const program_folders[] = {"bin", "sbin", "shims", "libexec"};

/* Below these every user's or program's files lie: no installation of one. */
static const char *const shared_prefixes[] = {"/",     "/usr", "/usr/local", "/opt",
                                              "/home", "/var", "/srv",       "/mnt"};
static const char *const shared_below_home[] = {"", ".local", ".config", ".cache", "go", ".npm"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Opens what is at the path, for programs that are no work of a command. */
static int push(const char *path, const struct fs_place *place, struct fs_rules *out, struct error *err) {
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND && !fs_may_be_planted(&file, place))
        result = fs_rules_push_of(out, FS_ALLOW_READ, FS_STRICT, &file, NULL, err);
    resolved_path_clear(&file);
    return result;
}

static bool is_shared(const char *prefix, const struct fs_place *place) {
    const char *const homes[] = {place->home, place->account_home};
    for (size_t i = 0; i < COUNT(shared_prefixes); i++)
        if (strcmp(prefix, shared_prefixes[i]) == 0)
            return true;
    for (size_t h = 0; h < COUNT(homes); h++) {
        size_t length = homes[h] == NULL ? 0 : strlen(homes[h]);
        if (length == 0)
            continue;
        /* Above a home. */
        if (path_is_within(homes[h], prefix))
            return true;
        for (size_t i = 0; i < COUNT(shared_below_home); i++)
            if (strncmp(prefix, homes[h], length) == 0 && prefix[length] == '/' &&
                strcmp(prefix + length + 1, shared_below_home[i]) == 0)
                return true;
    }
    return path_is_within(place->cwd, prefix);
}

static bool holds_programs(const char *folder) {
    const char *name = strrchr(folder, '/') + 1;
    for (size_t i = 0; i < COUNT(program_folders); i++)
        if (strcmp(name, program_folders[i]) == 0)
            return true;
    return false;
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* The folder that a program's file, or a link to it, lies in, with the rest of its installation: P/bin/node
 * has P/lib. */
static int push_installation(const char *file, bool whole, const struct fs_place *place, struct fs_rules *out,
                             struct error *err) {
    cleanup_free char *folder = folder_of(file);
    cleanup_free char *prefix = folder == NULL ? NULL : folder_of(folder);
    if (prefix == NULL)
        return error_memory(err);
    if (!holds_programs(folder))
        return 0;
    return push(whole && !is_shared(prefix, place) ? prefix : folder, place, out, err);
}

/* A program by its path: its file, and where it and the links to it lie. whole: with its installation. */
static int push_program(const struct resolved_path *file, bool whole, const struct fs_place *place,
                        struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < file->links.count; i++)
        if (push_installation(file->links.items[i], whole, place, out, err) != 0)
            return -1;
    if (whole && push_installation(file->path, whole, place, out, err) != 0)
        return -1;
    return push(file->path, place, out, err);
}

/* True for a file that can be executed and that no command wrote, or led to. */
static bool is_program(enum resolve_outcome outcome, const struct resolved_path *file,
                       const struct fs_place *place) {
    return outcome == RESOLVE_FOUND && S_ISREG(file->mode) && (file->mode & 0111) != 0 &&
           !fs_may_be_planted(file, place) && !path_memory_was_granted(place->memory, file->path);
}

/* The first program of that name in the PATH; what commands could have put there is passed over. */
static int push_from_path(const char *name, bool whole, const struct fs_place *place, struct fs_rules *out,
                          struct error *err) {
    const char *next = place->search_path;
    while (next != NULL && next[0] != '\0') {
        const char *end = strchrnul(next, ':');
        cleanup_free char *path = NULL;
        struct resolved_path file = {0};
        if (asprintf(&path, "%.*s/%s", (int)(end - next), next, name) < 0)
            return error_memory(err);
        bool absolute = next[0] == '/';
        next = *end == ':' ? end + 1 : NULL;
        if (!absolute)
            continue;
        struct error ignored = {0};
        bool found = is_program(path_resolve(path, &file, &ignored), &file, place);
        int result = found ? push_program(&file, whole, place, out, err) : 0;
        resolved_path_clear(&file);
        if (found || result != 0)
            return result;
    }
    return 0;
}

static int push_command(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    if (place->program == NULL || place->program[0] == '\0')
        return 0;
    if (strchr(place->program, '/') == NULL)
        return push_from_path(place->program, false, place, out, err);
    cleanup_free char *path = path_join(place->start, place->program);
    struct resolved_path file = {0};
    if (path == NULL)
        return error_memory(err);
    struct error ignored = {0};
    int result = 0;
    if (is_program(path_resolve(path, &file, &ignored), &file, place))
        result = push_program(&file, false, place, out, err);
    resolved_path_clear(&file);
    return result;
}

int runtime_files_resolve(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < COUNT(rows); i++)
        if (push(rows[i].path, place, out, err) != 0)
            return -1;
    for (size_t i = 0; i < COUNT(programs); i++)
        if (push_from_path(programs[i], true, place, out, err) != 0)
            return -1;
    return push_command(place, out, err);
}
