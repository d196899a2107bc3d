// Reads the members of a message of another process against what is expected of each: its type, its range,
// its length. Used for every message, so that no value of a peer enters the program unchecked.
//
//   Fields fields(message, "the server");
//   const RunPlan plan{.size = fields.number("size", 0, kMaxMessageBytes), .verify = fields.flag("verify")};
//   return fields.checked(plan);
//
// The first fault is kept, and what is read after it is 0, false or empty. Members that are not asked for are
// ignored. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/control/limits.h"

namespace tfabric::control {

class Fields {
 public:
  using Json = nlohmann::json;

  // `message` is an object, which outlives this. `sender` is named in errors.
  Fields(const Json& message, std::string sender) : Fields(message, std::move(sender), {}) {}

  [[nodiscard]] bool has(const char* name) const { return message_.contains(name); }

  // A whole number in [least, most].
  std::uint64_t number(const char* name, std::uint64_t least, std::uint64_t most);
  // Any number in [0, most].
  double real(const char* name, double most);
  bool flag(const char* name);
  // A text that may be printed: visible() has been applied, and the result is within the limit.
  std::string text(const char* name, std::size_t most_bytes = kMaxTextBytes);
  // A text as it was sent, for what is compared and never printed.
  std::string raw_text(const char* name, std::size_t most_bytes = kMaxTextBytes);
  std::vector<std::string> texts(const char* name, std::size_t most, std::size_t most_bytes = kMaxTextBytes);
  // Hexadecimal digits for exactly these bytes.
  void bytes(const char* name, std::span<std::byte> into);
  // Calls `each` with the Fields of every element of an array of objects.
  template <class Function>
  void objects(const char* name, std::size_t most, const Function& each) {
    const Json* const list = array(name, most);
    for (std::size_t i = 0; list != nullptr && i < list->size() && status(); ++i) {
      const std::string path = path_ + name + "[" + std::to_string(i) + "].";
      if (!(*list)[i].is_object()) {
        fault(name, "an array of objects");
        return;
      }
      Fields element((*list)[i], sender_, path);
      each(element);
      status_ = element.status();
    }
  }

  // Records that a member is not as expected, for conditions among several of them.
  void fault(const char* name, const std::string& expected);

  // Errc::remote: "SENDER has sent a malformed message: …".
  [[nodiscard]] const Status& status() const { return status_; }
  // Returns the value if there was no fault.
  template <class Value>
  [[nodiscard]] Result<Value> checked(Value value) const {
    return status_ ? Result<Value>(std::move(value)) : Result<Value>(status_.error());
  }

 private:
  Fields(const Json& message, std::string sender, std::string path)
      : message_(message), sender_(std::move(sender)), path_(std::move(path)) {}

  // Return nothing if the member is missing or of another type.
  const Json* member(const char* name, const std::string& expected);
  const Json* array(const char* name, std::size_t most);

  const Json& message_;
  std::string sender_;
  std::string path_;  // of this object in its message: "rails[2]."
  Status status_;
};

}  // namespace tfabric::control
