/* The known key of a settings file that someone may have meant. */
#ifndef OS_SANDBOX_POLICY_SETTINGS_NEAR_H
#define OS_SANDBOX_POLICY_SETTINGS_NEAR_H

#include <stdbool.h>

#include "policy/option_place.h"

/* True where some key is near, of this group or another: its path. */
bool settings_near(const char *group, const char *key, char near[OPTION_PLACE_SIZE]);

#endif
