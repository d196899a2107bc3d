// The system that a script assumes: Linux's defaults, changed by the commands of the script.
//
// Scripts set the kernel up by shell commands (sysctl, ip route, tc). None of these is run: the ones that
// mean something to our machine are understood, the rest is ignored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "transport/tcp/stack/connection.h"

namespace tfabric::drill {

class Profile {
 public:
  // Takes the settings `tcp_NAME=NUMBER` out of a command.
  void apply(std::string_view command);
  [[nodiscard]] std::uint32_t setting(const std::string& name, std::uint32_t otherwise) const;
  [[nodiscard]] stack::Options options(bool ipv6) const;

 private:
  std::map<std::string, std::uint32_t> settings_;
};

// The one of this process: commands and sockets come in by different ways.
Profile& profile();

}  // namespace tfabric::drill
