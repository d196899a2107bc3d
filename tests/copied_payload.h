// The payload of connections whose frames do not outlive the call that passed them on: what a connection
// retains is copied.
#pragma once

#include <cstddef>
#include <cstring>

#include "transport/tcp/stack/connection.h"

namespace tfabric::test {

inline const stack::PayloadOps kCopiedPayload{
    .context = nullptr,
    .retain =
        [](void*, stack::Payload& payload) {
          auto* copy = new std::byte[payload.size];
          std::memcpy(copy, payload.data, payload.size);
          payload.data = copy;
          payload.owner = copy;
          return true;
        },
    .release = [](void*, stack::Payload& payload) { delete[] static_cast<std::byte*>(payload.owner); }};

}  // namespace tfabric::test
