// What one of two hosts tells the other before they try their rails, and what is wrong by that alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "tools/check/finding.h"
#include "transport/transport.h"

namespace tfabric::check {

struct OfferedRail {
  std::string name;
  std::vector<std::string> addresses;  // "10.0.0.5/24"; none: the rail has no network
  std::string gateway;                 // any; empty: none
  std::string gateway6;
  std::uint32_t mtu = 0;  // 0: not known
};

struct Offer {
  std::string network;  // "tcp", "rdma"
  std::vector<OfferedRail> rails;
};

// Of a transport whose devices are one a rail.
[[nodiscard]] Offer make_offer(const config::Config& config, const transport::Transport& transport);

[[nodiscard]] nlohmann::json to_json(const Offer& offer);
// Errc::invalid_usage: the other side is no `tfabric check` of this version.
Result<Offer> offer_from(const nlohmann::json& json);

// Rails are paired by their order. False: there is nothing to try.
bool compare_offers(const Offer& mine, const Offer& theirs, Findings& findings);

}  // namespace tfabric::check
