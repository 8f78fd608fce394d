/* An option's path as it stands in errors: "network.allowedDomains", options["a b"]. */
#ifndef OS_SANDBOX_POLICY_OPTION_PLACE_H
#define OS_SANDBOX_POLICY_OPTION_PLACE_H

#define OPTION_PLACE_SIZE 256 /* group, key, quoted map key and index, each bounded */

/* "group.key", or with ["…"] where the key is not a short word. group is "" for the options themselves. */
void option_place_of_key(const char *group, const char *key, char place[OPTION_PLACE_SIZE]);

#endif
