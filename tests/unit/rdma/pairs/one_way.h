// A port with one GID.
#pragma once

#include <utility>

#include "transport/rdma/pairs/port_ways.h"

namespace tfabric::rdma::test {

class OneWay final : public pairs::PortWays {
 public:
  explicit OneWay(Rail rail, meeting::OfferedRail about = {})
      : rail_(std::move(rail)), about_(std::move(about)) {}
  [[nodiscard]] Way usual() override { return {.number = 0, .about = about_}; }
  [[nodiscard]] std::optional<Way> way_to(const Peer& /*peer*/) override { return usual(); }
  [[nodiscard]] const Rail& rail(std::size_t /*way*/) override { return rail_; }

 private:
  Rail rail_;
  meeting::OfferedRail about_;
};

}  // namespace tfabric::rdma::test
