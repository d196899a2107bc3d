// The one table of configuration keys: it drives the file reader, the environment, validation of single
// values, and what `tfabric info` shows.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace tfabric::config {

struct Key {
  std::string name;         // "tcp.flows"
  std::string environment;  // "TFABRIC_TCP_FLOWS"
  std::string expected;     // "an integer from 1 to 64"
  // Sets the value from text; false: not as expected.
  std::function<bool(Config&, std::string_view)> set;
  std::function<std::string(const Config&)> show;
  // NCCL's own variable of that meaning, like "NCCL_IB_HCA"; empty: none. It gives way to `environment`.
  std::string nccl_variable;
};

// All keys but the rails'.
[[nodiscard]] std::span<const Key> keys();

// The keys of a rail, which are set on one rail at a time.
struct RailKey {
  std::string name;  // "mtu"
  std::string expected;
  std::function<bool(Rail&, std::string_view)> set;
  std::function<std::string(const Rail&)> show;
  bool list = false;  // may have several values: an array in the file, joined by '+' as text
};
[[nodiscard]] std::span<const RailKey> rail_keys();
[[nodiscard]] const RailKey* find_rail_key(std::string_view name);  // null: there is none

[[nodiscard]] std::vector<std::string> key_names();
[[nodiscard]] std::vector<std::string> rail_key_names();
[[nodiscard]] std::vector<std::string> environment_names();  // the rails' variable included
[[nodiscard]] std::string_view to_string(RailKind kind);
[[nodiscard]] std::string_view to_string(MemifRole role);
[[nodiscard]] std::string_view to_string(CongestionControl control);

// Returns why a key, or its variable, that existed once does not any more; empty if it never existed.
[[nodiscard]] std::string why_gone(std::string_view name);
// Returns the entry of `known` nearest to `word`, or an empty text if none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> known);
// Returns a text like ", did you mean `x`?", or an empty one.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> known);

// The environment variable that replaces the file's rails.
inline constexpr const char* kRailsVariable = "TFABRIC_TCP_RAILS";
// The compact form of rails, in that variable and on the command lines of tools.
inline constexpr const char* kRailsExample =
    "\"pci:device=0000:00:05.0,addresses=10.0.0.5/24;af_packet:device=eth2,addresses=10.1.0.5/24+fd00::5/"
    "64\"";
inline constexpr const char* kFileVariable = "TFABRIC_CONFIG";

}  // namespace tfabric::config
