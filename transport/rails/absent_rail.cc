#include "transport/rails/absent_rail.h"

#include <fmt/format.h>

#include "transport/rails/rail_kinds.h"

namespace tfabric::rails {

std::unique_ptr<Rail> AbsentRail::make(const config::Rail& config, std::string why) {
  const auto prefix = config.addresses.empty() ? std::nullopt : net::parse_prefix(config.addresses.front());
  return prefix ? std::unique_ptr<Rail>(new AbsentRail(config, prefix->address, std::move(why))) : nullptr;
}

Result<Way> AbsentRail::way_to(const net::IpAddress& /*peer*/, std::uint64_t /*peer_process*/) {
  return Error{Errc::unusable,
               fmt::format("rail {} was left out when this process started: {}", config().name, why_)};
}

std::uint32_t AbsentRail::mtu() const { return effective_mtu(config()); }

}  // namespace tfabric::rails
