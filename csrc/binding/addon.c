/* The addon's entry: what JS sees of the C core. */
#include <node_api.h>

NAPI_MODULE_INIT() {
    (void)env;
    return exports;
}
