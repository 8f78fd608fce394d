/* Which questions for a refused name count. */
#include "network/asked_names.h"
#include "tap.h"

enum { A = 1, AAAA = 28, HTTPS = 65 };

int main(void) {
    struct asked_names names = {0};
    const char *evil = "evil.example.com";
    const char *searched = "evil.example.com.corp.example.com";
    ok(asked_names_count(&names, 1, evil, evil, A, 0), "the first question counts");
    ok(!asked_names_count(&names, 1, evil, evil, AAAA, 1), "the other family's does not");
    ok(!asked_names_count(&names, 1, evil, evil, HTTPS, 2), "nor that of the HTTPS record");
    ok(!asked_names_count(&names, 1, evil, searched, A, 3), "nor that below a search domain");
    ok(asked_names_count(&names, 1, evil, evil, A, 100), "the same question again is another look-up");
    ok(!asked_names_count(&names, 1, evil, evil, AAAA, 101), "whose others do not count either");
    ok(asked_names_count(&names, 2, evil, evil, AAAA, 102), "another run's question counts, of any type");
    ok(!asked_names_count(&names, 2, evil, evil, A, 103), "and its others do not");
    ok(asked_names_count(&names, 1, "other.example.com", "other.example.com", A, 104), "another name counts");
    ok(asked_names_count(&names, 2, evil, evil, A, 102 + ASKED_NAMES_MS),
       "after some time every question is a look-up of its own");
    char name[32];
    unsigned counted = 0;
    for (unsigned i = 0; i < ASKED_NAMES_MAX * 2; i++) {
        snprintf(name, sizeof name, "n%u.example.com", i);
        counted += asked_names_count(&names, 1, name, name, A, 200) ? 1 : 0;
    }
    is_int(counted, ASKED_NAMES_MAX * 2, "any number of names counts");
    ok(!asked_names_count(&names, 1, name, name, AAAA, 201), "the last ones are remembered");
    ok(asked_names_count(&names, 1, evil, evil, AAAA, 202), "the first are forgotten, and count again");
    return done_testing();
}
