// What all of NCCL's calls have in common: an error is logged once and becomes NCCL's code, and no exception
// reaches the caller, which is C. Private to adapter.cc and messages.cc.
#pragma once

#include <fmt/format.h>

#include <exception>

#include "base/log.h"
#include "base/result.h"
#include "plugin/abi/types.h"
#include "plugin/objects.h"

namespace tfabric::plugin {

inline abi::Result code_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
      return abi::Result::invalid_argument;
    case Errc::invalid_usage:
      return abi::Result::invalid_usage;
    case Errc::remote:
      return abi::Result::remote_error;
    case Errc::internal:
      return abi::Result::internal_error;
    case Errc::system:
    case Errc::unusable:
      break;
  }
  return abi::Result::system_error;
}

// `call` is NCCL's name of the call, for the log.
[[gnu::cold]] inline abi::Result fail(const char* call, const Error& error) {
  TF_WARN("NET/tfabric: {}: {}", call, error.message);
  return code_of(error.code);
}

// Warns of the first error of a listener or comm only, because NCCL polls: repeated warnings would overwrite
// the cause, which is what ncclGetLastError() should show.
[[gnu::cold]] inline abi::Result fail_once(const char* call, Object& object, const Error& error) {
  if (!object.warned.exchange(true)) {
    return fail(call, error);
  }
  TF_TRACE("NET/tfabric: {}: {}", call, error.message);
  return code_of(error.code);
}

[[gnu::cold]] inline abi::Result null_argument(const char* call, const char* argument) {
  return fail(call, {Errc::invalid_argument, fmt::format("{} is null", argument)});
}

[[gnu::cold]] inline abi::Result wrong_object(const char* call, const char* what, const void* pointer) {
  return fail(call, {Errc::invalid_argument, fmt::format("{} is not an open {}", pointer, what)});
}

// Runs the body of a call. An exception (no memory, no thread) becomes a system error.
template <class Body>
abi::Result guarded(const char* call, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& exception) {
    TF_WARN("NET/tfabric: {}: {}", call, exception.what());
    return abi::Result::system_error;
  }
}

}  // namespace tfabric::plugin
