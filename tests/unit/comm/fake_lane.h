// A lane that is what a test says, and notes what a comm's parts do to it: no stream, no engine, no clock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/lane/lane.h"
#include "transport/lane/record.h"

namespace tfabric::comm::test {

class FakeCarrier final : public engine::Carrier {
 public:
  explicit FakeCarrier(std::string name, const engine::Traits& traits = {})
      : Carrier(traits), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] bool has_family_of(const net::IpAddress&) const override { return true; }
  std::unique_ptr<lane::Lane> open(const engine::Destination&) override { return nullptr; }
  [[nodiscard]] std::optional<Instant> away_since() const override { return away; }
  [[nodiscard]] bool has_ended(Instant) const override { return false; }
  [[nodiscard]] std::string why_away(Instant) const override { return away ? "no link" : ""; }
  [[nodiscard]] std::uint64_t absences() const override { return 0; }

  std::optional<Instant> away;

 private:
  std::string name_;
};

class FakeLane : public lane::Lane {
 public:
  explicit FakeLane(FakeCarrier& carrier) : carrier_(&carrier) {}

  // --- what a test sets
  std::uint64_t confirms = 0, has_given = 0;
  std::uint32_t timeouts = 0;
  Duration trip = std::chrono::microseconds(100);
  bool has_room = true;

  // --- what it has seen
  std::vector<lane::RecordType> said;
  std::uint32_t retries = 0, flushes = 0, closes = 0;
  std::optional<std::string> aborted;  // for this reason

  void attach(lane::LaneEvents&, lane::ControlSink&, stripe::Inbox*) override {}
  [[nodiscard]] engine::Carrier& carrier() const override { return *carrier_; }
  [[nodiscard]] std::string remote() const override { return "10.0.0.7"; }
  [[nodiscard]] engine::FlowAccount* account() const override { return nullptr; }
  [[nodiscard]] stripe::LaneRoom look(const stripe::Outgoing&) const override { return {}; }
  std::optional<stripe::Span> give(const stripe::Piece&) override { return std::nullopt; }
  void flush() override { ++flushes; }
  bool say(std::span<const std::byte> record) override {
    if (!has_room) {
      return false;
    }
    said.push_back(lane::decode(record.first<lane::kRecordHeaderBytes>())->type);
    has_given += record.size();
    return true;
  }
  [[nodiscard]] std::uint64_t confirmed() const override { return confirms; }
  [[nodiscard]] std::uint64_t given() const override { return has_given; }
  [[nodiscard]] bool awaits_peer() const override { return confirms < has_given; }
  [[nodiscard]] bool is_drained() const override { return confirms == has_given; }
  [[nodiscard]] std::uint64_t answered() const override { return confirms; }
  void report() override {}
  bool on_report(std::uint64_t) override { return false; }
  [[nodiscard]] bool is_finished() const override { return false; }
  [[nodiscard]] bool has_brought_all() const override { return false; }
  [[nodiscard]] bool is_mid_record() const override { return false; }
  bool drain() override { return false; }
  [[nodiscard]] std::uint32_t timeouts_in_row() const override { return timeouts; }
  [[nodiscard]] std::uint32_t probes_unanswered() const override { return 0; }
  [[nodiscard]] Instant progressed_at() const override { return {}; }
  [[nodiscard]] Instant heard_at() const override { return {}; }
  [[nodiscard]] Duration round_trip() const override { return trip; }
  [[nodiscard]] bool is_connecting() const override { return false; }
  [[nodiscard]] bool lacks_neighbour() const override { return false; }
  void retry(Instant) override { ++retries; }
  void forgive(Duration, Instant) override {}
  [[nodiscard]] lane::Meters meters() const override { return {}; }
  [[nodiscard]] lane::Loss loss(bool, Instant) const override { return {}; }
  [[nodiscard]] std::string describe(Silence, bool, Instant) const override { return "silent"; }

 private:
  [[nodiscard]] std::string label() const override { return "lane"; }
  void finish() override { ++closes; }
  void reset(std::string_view reason) override { aborted = reason; }
  std::optional<std::uint64_t> begin_fence() override { return 0; }

  FakeCarrier* carrier_;
};

}  // namespace tfabric::comm::test
