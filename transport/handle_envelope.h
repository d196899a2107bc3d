// The common fields of all transports' handles, at the same offsets in each, so that a rank can report that a
// handle is of another transport or version.
//
//   0 magic | 4 version | 5 transport | 6 … 36 the transport's | 36 check | 40 attempt
//   48 … 112 the transport's | 112 … 128 zero
//
// `attempt` belongs to the connector: NCCL passes the same memory on every retry, initially zero. The check
// covers all other bytes up to 112.
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

// The form that a rank writes, and the only one that it reads.
struct HandleForm {
  HandleKind kind = HandleKind::tcp;
  std::uint8_t version = 0;  // of the transport's protocol
};

// Writes magic, version, transport and check. Call last.
void seal_handle(const HandleForm& form, HandleBytes bytes);
// Returns Errc::invalid_usage, with the remedy, if the bytes were not sealed in this form.
[[nodiscard]] Status check_handle(const HandleForm& form, ConstHandleBytes bytes);

[[nodiscard]] std::uint64_t attempt_of(ConstHandleBytes bytes);
void set_attempt(HandleBytes bytes, std::uint64_t attempt);

}  // namespace tfabric::transport
