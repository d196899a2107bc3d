// What one engine publishes on the page: itself, its rails, paths, comms and flows.
//
// Each millisecond it looks at a few comms and flows, in turn, so that thousands of them cost no more than
// ten; the data path writes nothing for it. Counters of a path are sums of its flows: what a flow has done
// since it was looked at last is added, also when it ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "observe/page.h"
#include "transport/engine/carrier.h"
#include "transport/engine/engine.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/flows/path.h"
#include "transport/report/shown_comm.h"

namespace tfabric::report {

// A rail as it was opened.
struct ShownRail {
  std::string name, kind, device;
  std::string address;  // empty: none
  std::uint32_t mtu = 0;
  bool absent = false;                           // the process has started without it
  std::shared_ptr<engine::Rehearsal> rehearsal;  // null: nothing is rehearsed on it
};

class EngineReport final : public engine::Observer {
 public:
  // All of these outlive it.
  EngineReport(observe::Page& page, watchdog::Watchdog& watchdog, engine::Engine& engine,
               const flows::PathBook& paths, std::uint16_t number, std::string_view progress);
  ~EngineReport();
  EngineReport(const EngineReport&) = delete;
  EngineReport& operator=(const EngineReport&) = delete;

  // A rail that is new, by its name, or has changed.
  void show_rail(ShownRail rail) TF_IN_TURN;
  void add(ShownComm& comm) TF_IN_TURN;
  void remove(ShownComm& comm) TF_IN_TURN;
  [[nodiscard]] CommWatch& watch() TF_IN_TURN { return watch_; }
  // What the page would say of the rail with this name now; zeros if there is none.
  [[nodiscard]] observe::RailFacts facts_of(std::string_view rail) TF_IN_TURN;
  // CPU time of the threads that have turned the engine.
  [[nodiscard]] Duration cpu_time() const TF_IN_TURN {
    return Duration(static_cast<Duration::rep>(facts_.cpu_ns));
  }
  // The longest time in which nothing of a comm moved although something was posted.
  [[nodiscard]] Duration longest_wait() const TF_IN_TURN { return longest_wait_; }

  // --- engine::Observer
  void on_time(Instant now) override TF_IN_TURN;
  void on_flow_gone(engine::Flow& flow) override TF_IN_TURN;
  void on_carrier_gone(const engine::Carrier& carrier) override TF_IN_TURN;

 private:
  struct PathAccount {
    std::uint64_t id = 0;
    std::uint32_t slot = observe::Page::kNone;
    observe::PathFacts facts;
  };
  struct RailAccount {
    ShownRail rail;
    std::uint64_t id = 0;
    std::uint32_t slot = observe::Page::kNone;
    engine::CarrierCounters gone;  // of carriers that have been removed
    std::uint64_t carried = 0;     // bytes, when it was looked at last
    std::uint64_t busy_ns = 0, stood_in_ns = 0, missed_ns = 0;
  };
  class FlowAccount;

  // Each of them once, and then the next time.
  struct Round {
    std::size_t left = 0;
    Instant next{};
    void begin(std::size_t all, Instant now);
  };

  // Rails may have thousands of links.
  static constexpr Duration kRailInterval = std::chrono::milliseconds(100);

  void look_at_comms(Instant now) TF_IN_TURN;
  void look_at_flows(Instant now) TF_IN_TURN;
  [[nodiscard]] engine::Flow* flow_at(std::size_t place) const TF_IN_TURN;
  void look_at(engine::Flow& flow, bool shows_packets) TF_IN_TURN;
  FlowAccount& account_of(engine::Flow& flow, bool records) TF_IN_TURN;
  PathAccount& path_to(const std::string& rail, const net::IpAddress& peer);
  void take_peers(const RailAccount& account) TF_IN_TURN;
  void keep(const FlowAccount& account, std::string_view why);
  void look_for_trouble(const engine::Flow& flow, FlowAccount& account, Instant now) TF_IN_TURN;
  void publish_engine(std::uint64_t now) TF_IN_TURN;
  void publish_rail(RailAccount& account, Instant now) TF_IN_TURN;
  [[nodiscard]] observe::RailFacts facts_of(const RailAccount& account) const TF_IN_TURN;
  void mind_cpu();
  [[nodiscard]] engine::CarrierCounters counters_of(const RailAccount& account) const TF_IN_TURN;
  // Calls `use(carrier)` for each that the rail has in this engine.
  template <class Use>
  void for_each_carrier(const RailAccount& account, const Use& use) const TF_IN_TURN;
  [[nodiscard]] std::string fault_of(const RailAccount& account) const;

  observe::Page* page_;
  CommWatch watch_;
  engine::Engine* engine_;
  const flows::PathBook* book_;
  observe::EngineFacts facts_;
  std::uint64_t id_;
  std::uint32_t slot_;
  std::vector<RailAccount> rails_;
  std::map<std::pair<std::string, net::IpAddress>, PathAccount> paths_;
  std::vector<ShownComm*> comms_;
  std::size_t next_comm_ = 0, next_flow_ = 0;  // the one to be looked at next
  Round comm_round_, flow_round_;
  Instant next_rails_{};
  Duration longest_wait_{};
};

}  // namespace tfabric::report
