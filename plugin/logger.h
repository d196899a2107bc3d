// NCCL's logger as the sink of base/log.h.
#pragma once

#include "plugin/abi/types.h"

namespace tfabric::plugin {

// From now on lines go to `callback`; each init brings one, the last one stays. Null: nothing changes.
void set_logger(abi::LogCallback callback);

}  // namespace tfabric::plugin
