// What EngineReport keeps about a flow.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "observe/facts.h"
#include "observe/page.h"
#include "transport/engine/turn.h"
#include "transport/report/engine_report.h"

namespace tfabric::report {

class EngineReport::FlowAccount final : public engine::FlowAccount {
 public:
  explicit FlowAccount(EngineReport& report) : report_(&report) {}
  std::uint64_t id = 0;
  std::uint32_t slot = observe::Page::kNone;
  PathAccount* path = nullptr;
  observe::FlowFacts facts;
  std::uint32_t ring_slot = observe::Page::kNone;
  // What is wrong with it, until it is over.
  bool timed_out = false;
  Instant closed_since{};  // the peer has no room; Instant{}: it has

  // What the flow has done since the last time goes into its path.
  void take(const engine::ConnectionInfo& info, const engine::ByteStream& stream) TF_IN_TURN;
  void keep(std::string_view why) override TF_IN_TURN;

 private:
  EngineReport* report_;
};

}  // namespace tfabric::report
