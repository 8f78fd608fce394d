/* The addon's entry: the functions that JS sees of the C core. */
#include <node_api.h>

#include "binding/host_binding.h"
#include "binding/output_binding.h"
#include "binding/process_binding.h"
#include "binding/profile_binding.h"
#include "binding/session_binding.h"
#include "binding/settings_binding.h"

static const struct {
    const char *name;
    napi_callback function;
} functions[] = {
    {"optionSchema", policy_binding_schema},    {"makePolicy", policy_binding_make},
    {"startSession", session_binding_start},    {"startRun", run_binding_start},
    {"stopRun", session_binding_stop},          {"disposeSession", session_binding_dispose},
    {"answerAsk", network_binding_answer},      {"updateNetwork", network_binding_update},
    {"exposePort", network_binding_expose},     {"probeSession", session_binding_probe},
    {"signalRun", session_binding_signal},      {"dieOfSignal", process_binding_die},
    {"terminalTake", terminal_binding_take},    {"terminalGive", terminal_binding_give},
    {"parseSettings", settings_binding_parse},  {"mergeOptions", settings_binding_merge},
    {"settingsTable", settings_binding_table},  {"profileDarwin", profile_binding_darwin},
    {"writeReady", output_binding_write_ready}, {"explain", explain_binding_ask},
    {"findBwrap", host_binding_find_bwrap},     {"bwrapFault", host_binding_bwrap_fault},
};

NAPI_MODULE_INIT() {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value function;
        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL,
                                 &function) != napi_ok ||
            napi_set_named_property(env, exports, functions[i].name, function) != napi_ok)
            return NULL;
    }
    return exports;
}
