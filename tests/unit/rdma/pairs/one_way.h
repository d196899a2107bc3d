// A port with one GID at a time.
#pragma once

#include <deque>
#include <utility>

#include "transport/rdma/pairs/port_ways.h"

namespace tfabric::rdma::test {

class OneWay final : public pairs::PortWays {
 public:
  explicit OneWay(Rail rail, meeting::OfferedRail about = {})
      : rails_{std::move(rail)}, about_(std::move(about)) {}
  // The GID is at this index from now on.
  void move_to(std::uint8_t index) {
    rails_.push_back(rails_.back());
    rails_.back().gid_index = index;
  }
  [[nodiscard]] Way usual() override { return {.number = rails_.size() - 1, .about = about_}; }
  [[nodiscard]] std::optional<Way> way_to(const Peer& /*peer*/) override { return usual(); }
  [[nodiscard]] const Rail& rail(std::size_t way) override { return rails_[way]; }

 private:
  std::deque<Rail> rails_;
  meeting::OfferedRail about_;
};

}  // namespace tfabric::rdma::test
