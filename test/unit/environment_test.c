#include "command/environment.h"
#include "tap.h"

static void merges(const char *name, char *const *ambient, const char *const *own, const char *wanted) {
    struct strvec items = {0};
    struct strvec out = {0};
    char got[256] = "";
    for (; *own != NULL; own++)
        strvec_push(&items, *own);
    ok(env_merge(ambient, &items, &out) == 0, "%s: merged", name);
    for (size_t i = 0; i < out.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", out.items[i]);
    is_str(got, wanted, name);
    strvec_clear(&items);
    strvec_clear(&out);
}

#define OWN(...) ((const char *const[]){__VA_ARGS__, NULL})

int main(void) {
    static char a[] = "A=1";
    static char b[] = "AB=2";
    static char odd[] = "NOVALUE";
    char *ambient[] = {a, b, NULL};
    char *with_odd[] = {odd, NULL};
    merges("nothing of its own", ambient, OWN(NULL), "A=1 AB=2 ");
    merges("a variable of its own comes on top", ambient, OWN("A=x=y"), "AB=2 A=x=y ");
    merges("an empty value is a value", ambient, OWN("AB="), "A=1 AB= ");
    merges("a name alone takes the variable away", ambient, OWN("A"), "AB=2 ");
    merges("what is not there can be taken away", ambient, OWN("C"), "A=1 AB=2 ");
    merges("no ambient environment", NULL, OWN("A=1", "B"), "A=1 ");
    merges("an ambient entry without a value is passed on", with_odd, OWN("NO=1"), "NOVALUE NO=1 ");
    return done_testing();
}
