#include "tests/packetdrill/profile.h"

#include <charconv>

namespace tfabric::drill {

using namespace std::chrono_literals;

void Profile::apply(std::string_view command) {
  constexpr std::string_view kPrefix = "tcp_";
  for (std::size_t at = command.find(kPrefix); at != std::string_view::npos;
       at = command.find(kPrefix, at + 1)) {
    const std::size_t name_end = command.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at);
    if (name_end == std::string_view::npos || command[name_end] != '=') {
      continue;
    }
    std::uint32_t value = 0;
    const std::string_view digits = command.substr(name_end + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc{}) {
      settings_[std::string(command.substr(at, name_end - at))] = value;
    }
  }
}

std::uint32_t Profile::setting(const std::string& name, std::uint32_t otherwise) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? otherwise : found->second;
}

stack::Options Profile::options(bool ipv6) const {
  stack::Options options;
  options.mss = ipv6 ? 1440 : 1460;
  options.receive_buffer = 15u << 20;  // the scripts expect "wscale 8"
  options.send_buffer = 64u << 20;     // the adaptor limits what a socket may hold
  options.min_rto = 200ms;
  options.rto_granularity = 200ms;
  options.max_rto = std::chrono::milliseconds(setting("tcp_rto_max_ms", 120'000));
  options.initial_rto = 1s;
  options.max_ack_delay = 200ms;           // Linux: TCP_DELACK_MAX
  options.delayed_ack = Duration::zero();  // Linux acknowledges the first segments of a connection at once
  options.connect_timeout = 127s;
  options.user_timeout = 924s;
  options.keepalive_idle = Duration::zero();
  options.timestamps = setting("tcp_timestamps", 1) != 0;
  options.sack = setting("tcp_sack", 1) != 0;
  options.mtu_discovery = setting("tcp_mtu_probing", 0) != 0;
  return options;
}

Profile& profile() {
  static Profile instance;
  return instance;
}

}  // namespace tfabric::drill
