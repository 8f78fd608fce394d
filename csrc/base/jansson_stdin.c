/* Debian's libjansson.a is not position-independent where it names stdin (json_loadf, which nobody calls
 * here): a hidden symbol of that name inside the addon lets the archive link into a shared object. No stdio.h
 * here. */
extern void *stdin __attribute__((visibility("hidden")));

void *stdin = 0;
