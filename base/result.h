// Result<T>: a value, or an Error that says what failed.
//
// Used at every border of the project instead of exceptions. "Not yet, call again" is never an Error:
// such functions return an empty optional or a null pointer. The message of an Error names the thing
// that is wrong, what was expected and how to fix it. It is logged once, where the project returns to its
// caller (NCCL or a tool), and not where the error is found.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tfabric {

// The kind of failure. The plugin maps each to one ncclResult_t.
enum class Errc : std::uint8_t {
  invalid_argument,  // the caller broke the contract of the function
  invalid_usage,     // the user's set-up is wrong, or the two ends of a job do not match
  system,            // the kernel, a driver or a library failed
  internal,          // a bug of this project
  remote,            // the peer has died or cannot be reached any more
  unusable,          // this host lacks a requirement; the caller should use another transport
};

struct Error {
  Errc code = Errc::internal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Error{...};` are the whole syntax.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() : failed_(false) {}
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  [[nodiscard]] bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    assert(!ok());
    return error_;
  }

 private:
  Error error_;
  bool failed_;
};

using Status = Result<void>;

}  // namespace tfabric
