// What the handles of all transports have in common, at the same place in each, so that a rank that is handed
// another transport's handle, or another version's, can say so.
//
//   0 magic | 4 version | 5 transport | 6 … 36 the transport's | 36 check | 40 attempt
//   48 … 112 the transport's | 112 … 128 zero
//
// `attempt` is the connector's own: NCCL hands it the same memory on every retry, zero at first. The check
// covers all the rest up to 112.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transport/transport.h"

namespace tfabric::transport {

using HandleBytes = std::span<std::byte, kHandleBytes>;
using ConstHandleBytes = std::span<const std::byte, kHandleBytes>;

enum class HandleKind : std::uint8_t { tcp = 1, rdma = 2 };

// What a rank writes, and what it can read.
struct HandleForm {
  HandleKind kind = HandleKind::tcp;
  std::uint8_t version = 0;  // of the transport's protocol
};

// Writes magic, version, transport and check, once all else is in its place.
void seal_handle(const HandleForm& form, HandleBytes bytes);
// Errc::invalid_usage, with what to do, if the bytes were not sealed in this form.
[[nodiscard]] Status check_handle(const HandleForm& form, ConstHandleBytes bytes);

[[nodiscard]] std::uint64_t attempt_of(ConstHandleBytes bytes);
void set_attempt(HandleBytes bytes, std::uint64_t attempt);

}  // namespace tfabric::transport
