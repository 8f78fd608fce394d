#include "base/path.h"
#include "tap.h"

#include <stdlib.h>

static void compares(const char *first, const char *second, int sign, const char *name) {
    int got = path_compare(first, second);
    ok((got > 0) - (got < 0) == sign, "%s", name);
}

int main(void) {
    compares("/a", "/a/b", -1, "a directory comes before what is in it");
    compares("/a/b", "/a-b", -1, "what is in a directory comes before a sibling whose name begins alike");
    compares("/a/b", "/a\x01", -1, "also before a sibling that goes on with the lowest byte");
    compares("/a\xff", "/a/z", 1, "bytes above 127 come after the slash");
    compares("/a", "/a", 0, "a path is equal to itself");

    ok(path_is_within("/a/b", "/a"), "a file lies within its directory");
    ok(path_is_within("/a", "/a"), "a directory lies within itself");
    ok(!path_is_within("/ab", "/a"), "a sibling whose name begins alike does not");
    ok(path_is_within("/a", "/"), "everything lies within the root");
    ok(!path_is_within("/", "/a"), "the root lies within nothing else");

    static const struct {
        const char *path;
        bool normal;
    } spellings[] = {{"/", true},      {"/a", true},    {"/a/b.c", true}, {"/a/...", true},
                     {"", false},      {"a", false},    {"//a", false},   {"/a/", false},
                     {"/a//b", false}, {"/./a", false}, {"/a/..", false}, {"/a/.", false}};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        ok(path_is_normal(spellings[i].path) == spellings[i].normal, "\"%s\" is %snormal", spellings[i].path,
           spellings[i].normal ? "" : "not ");

    char *joined = path_join("/base", "x/y");
    is_str(joined, "/base/x/y", "a relative path is put below the base");
    free(joined);
    joined = path_join("/base", "/x");
    is_str(joined, "/x", "an absolute path stands for itself");
    free(joined);
    return done_testing();
}
