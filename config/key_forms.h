// The forms that a key's value can have as text: what is expected, how it is read, and how it is shown.
//
// A form is a value with expected(), set(text, value&) and show(value). set() returns false, and leaves the
// value as it was, if the text is not as expected. Internal to config/.
#pragma once

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/value.h"

namespace tfabric::config::form {

// A number in [low, high]. `what` says what it stands for, with its unit.
struct Number {
  const char* what;
  std::int64_t low, high;
  std::int64_t multiple = 1;
  std::optional<std::int64_t> (*parse)(std::string_view) = parse_size;

  [[nodiscard]] std::string expected() const {
    const std::string range = fmt::format("{} from {} to {}", what, low, high);
    return multiple > 1 ? fmt::format("{}, a multiple of {}", range, multiple) : range;
  }
  template <class Value>
  [[nodiscard]] bool set(std::string_view text, Value& value) const {
    const auto number = parse(text);
    if (!number || *number < low || *number > high || *number % multiple != 0) {
      return false;
    }
    value = static_cast<Value>(*number);
    return true;
  }
  template <class Value>
  [[nodiscard]] std::string show(const Value& value) const {
    return std::to_string(value);
  }
  [[nodiscard]] std::string show(const std::chrono::milliseconds& value) const {
    return std::to_string(value.count());
  }
};

// A number in [low, high], or the word "auto", which is stored as 0.
struct NumberOrAuto {
  std::int64_t low, high;

  [[nodiscard]] Number number() const { return {.what = "an integer", .low = low, .high = high}; }
  [[nodiscard]] std::string expected() const { return "\"auto\" or " + number().expected(); }
  template <class Value>
  [[nodiscard]] bool set(std::string_view text, Value& value) const {
    if (text == "auto") {
      value = 0;
      return true;
    }
    return number().set(text, value);
  }
  template <class Value>
  [[nodiscard]] std::string show(const Value& value) const {
    return value == 0 ? "auto" : number().show(value);
  }
};

struct Flag {
  [[nodiscard]] static std::string expected() { return "true or false"; }
  [[nodiscard]] static bool set(std::string_view text, bool& value) {
    const auto flag = parse_bool(text);
    value = flag.value_or(value);
    return flag.has_value();
  }
  [[nodiscard]] static std::string show(bool value) { return value ? "true" : "false"; }
};

// A flag, or the word "auto".
struct FlagOrAuto {
  [[nodiscard]] static std::string expected() { return "\"auto\", true or false"; }
  [[nodiscard]] static bool set(std::string_view text, Switch& value) {
    bool flag = false;
    if (text == "auto") {
      value = Switch::automatic;
    } else if (Flag::set(text, flag)) {
      value = flag ? Switch::on : Switch::off;
    } else {
      return false;
    }
    return true;
  }
  [[nodiscard]] static std::string show(Switch value) {
    return value == Switch::automatic ? "auto" : Flag::show(value == Switch::on);
  }
};

// Words and their meanings, as in {{"client", MemifRole::client}, …}. Of several words with one meaning, the
// first is shown.
template <class Meaning, std::size_t kCount>
using WordList = std::array<std::pair<std::string_view, Meaning>, kCount>;

template <class Meaning, std::size_t kCount>
struct OneOf {
  WordList<Meaning, kCount> words;

  [[nodiscard]] std::string expected() const {
    std::string text = "one of";
    for (const auto& [word, meaning] : words) {
      text += fmt::format(" \"{}\"", word);
    }
    return text;
  }
  template <class Value>
  [[nodiscard]] bool set(std::string_view text, Value& value) const {
    for (const auto& [word, meaning] : words) {
      if (text == word) {
        value = meaning;
        return true;
      }
    }
    return false;
  }
  template <class Value>
  [[nodiscard]] std::string show(const Value& value) const {
    for (const auto& [word, meaning] : words) {
      if (value == meaning) {
        return std::string(word);
      }
    }
    return {};
  }
};
template <class Meaning, std::size_t kCount>
OneOf(WordList<Meaning, kCount>) -> OneOf<Meaning, kCount>;

// Any text.
struct Text {
  const char* what;

  [[nodiscard]] std::string expected() const { return what; }
  [[nodiscard]] static bool set(std::string_view text, std::string& value) {
    value = std::string(text);
    return true;
  }
  [[nodiscard]] static std::string show(const std::string& value) { return value; }
};

// A value that is made from its text and keeps it. `nothing` is the word for the empty text.
template <class Value>
struct Parsed {
  const char* what;
  std::string nothing;
  std::optional<Value> (*parse)(std::string_view) = Value::parse;

  [[nodiscard]] std::string expected() const { return what; }
  [[nodiscard]] bool set(std::string_view text, Value& value) const {
    auto parsed = parse(trimmed(text) == nothing ? std::string_view() : text);
    if (parsed) {
      value = std::move(*parsed);
    }
    return parsed.has_value();
  }
  [[nodiscard]] std::string show(const Value& value) const {
    return value.text().empty() ? nothing : value.text();
  }
};

// Ports like "49152-65535".
struct Ports {
  [[nodiscard]] static std::string expected();
  [[nodiscard]] static bool set(std::string_view text, PortRange& value);
  [[nodiscard]] static std::string show(const PortRange& value);
};

// How many rails a process takes: "auto", "all" or a number.
struct RailCount {
  [[nodiscard]] static std::string expected();
  [[nodiscard]] static bool set(std::string_view text, RailsPerProcess& value);
  [[nodiscard]] static std::string show(const RailsPerProcess& value);
};

// A rail's addresses, joined by '+': the environment has no other form, and the file's reader joins an array.
struct Addresses {
  [[nodiscard]] static std::string expected() { return "addresses like \"10.0.0.5/24\""; }
  [[nodiscard]] static bool set(std::string_view text, std::vector<std::string>& value);
  [[nodiscard]] static std::string show(const std::vector<std::string>& value);
};

// Queues of an interface like "0" or "2-3", or "all".
struct Queues {
  [[nodiscard]] static std::string expected() {
    return "all, or an interface's queues like \"0\" or \"2-3\"";
  }
  [[nodiscard]] static bool set(std::string_view text, QueueRange& value);
  [[nodiscard]] static std::string show(const QueueRange& value);
};

// Arguments of a DPDK device like "large_llq_hdr=1,miss_txc_to=10". The environment, where a comma ends a
// key, joins them by '+'.
struct DeviceArguments {
  [[nodiscard]] static std::string expected() {
    return "arguments of the NIC's driver in DPDK like \"large_llq_hdr=1,miss_txc_to=10\"";
  }
  [[nodiscard]] static bool set(std::string_view text, std::string& value);
  [[nodiscard]] static std::string show(const std::string& value) { return value; }
};

}  // namespace tfabric::config::form
