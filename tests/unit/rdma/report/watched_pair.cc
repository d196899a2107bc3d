#include "watched_pair.h"

#include <array>
#include <catch2/catch.hpp>

#include "transport/watchdog/introduction.h"

namespace tfabric::rdma::test {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(100);

// The time of all tests goes on: ends of comms are noted in the clock's.
Instant the_time = monotonic_now();

verdict::Process name_of(std::size_t number) {
  return {.rank = static_cast<std::int32_t>(number),
          .pid = static_cast<std::uint32_t>(100 + number),
          .host = "vm"};
}

class WireMeeting final : public Meeting {
 public:
  WireMeeting(NoteWire& wire, std::size_t self) : wire_(&wire), self_(self) {}

  Result<bool> join(Endpoint& /*endpoint*/, Instant /*now*/) override { return true; }
  Status watch(Instant /*now*/) override {
    return wire_->left[1 - self_] ? Status(Error{Errc::remote, "it closed the connection"}) : Status();
  }
  void give_up(const std::string& /*reason*/) override {}
  [[nodiscard]] bool is_cut_off() const override { return wire_->left[1 - self_]; }
  [[nodiscard]] bool peer_has_left() const override { return wire_->left[1 - self_]; }
  [[nodiscard]] bool takes_notes() const override { return wire_->takes_notes; }
  void send_note(Note::Kind kind, std::span<const std::byte> body) override {
    wire_->arriving[1 - self_].push_back({.kind = kind, .body = {body.begin(), body.end()}});
  }
  [[nodiscard]] std::optional<Note> take_note() override {
    auto& arriving = wire_->arriving[self_];
    if (arriving.empty()) {
      return std::nullopt;
    }
    Note note = std::move(arriving.front());
    arriving.pop_front();
    return note;
  }
  [[nodiscard]] bool kernel_answers() const override { return !wire_->kernel_mute[1 - self_]; }

 private:
  NoteWire* wire_;
  std::size_t self_;
};

}  // namespace

WatchedPair::Process::Process(std::size_t number)
    : page(good(observe::Page::create(
          {.rank = static_cast<std::int64_t>(number), .host = "vm", .job = {}, .transport = "rdma"}))) {
  watchdog::Options options{.self = name_of(number), .number = 1000 + number};
  watchdog = std::make_unique<watchdog::Watchdog>(std::move(options), *page);
  report = std::make_unique<CommReport>(*page, *watchdog);
  comms.set_observer(report.get());
}

WatchedPair::WatchedPair(bool takes_notes) {
  wire.takes_notes = takes_notes;
  for (std::size_t i = 0; i < 2 && takes_notes; ++i) {
    const auto introduction = watchdog::encode(name_of(1 - i));
    wire.arriving[i].push_back(
        {.kind = Note::Kind::introduction, .body = {introduction.begin(), introduction.end()}});
  }
  world.sender.rails[0].comms = &processes[0].comms;
  world.receiver.rails[0].comms = &processes[1].comms;
  for (Process& process : processes) {
    process.report->show_rail(
        {.name = "fake_0:1", .kind = "RoCE", .device = "eth0", .address = "::1", .mtu = 4096});
  }
  const ConnectionOptions options{.now = [] { return the_time; }};
  auto from = good(Endpoint::create(Role::sender, world.sender.rail_list(), options));
  auto to = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), options));
  const CommEnd from_end = from->local(), to_end = to->local();
  good(to->meet(from_end, "host-a"));
  good(to->connect());
  good(from->meet(to_end, "host-b"));
  good(from->connect());
  send = std::make_unique<SendComm>(std::move(from), std::make_unique<WireMeeting>(wire, 0));
  receive = good(RecvComm::create(std::move(to), std::make_unique<WireMeeting>(wire, 1)));
  out_region = good(send->register_memory(out.data(), out.size(), transport::MemoryKind::host));
  REQUIRE((processes[0].comms.join_all() && processes[1].comms.join_all()));
  in_region = good(receive->register_memory(in.data(), in.size(), transport::MemoryKind::host));
}

void WatchedPair::run(Duration time) {
  for (const Instant end = the_time + time; the_time < end;) {
    the_time += kStep;
    for (Process& process : processes) {
      if (!process.stopped) {
        process.does();
      }
    }
    if (!cut) {
      world.fabric.run();
    }
    for (Process& process : processes) {
      if (!process.stopped) {
        REQUIRE(process.report->look(the_time) == kStep);
      }
    }
  }
}

void WatchedPair::run_until_said(std::size_t process, Duration most) {
  for (const Instant end = the_time + most; the_time < end && said(process).empty();) {
    run(kStep);
  }
}

std::vector<WatchedPair::Said> WatchedPair::said(std::size_t process) const {
  const observe::ReadTable verdicts = table(process, "verdict");
  std::vector<Said> all;
  for (const observe::ReadRow& row : verdicts.rows) {
    all.push_back({.cause = verdicts.text(row, "cause"),
                   .text = verdicts.text(row, "text"),
                   .goes_on = verdicts.number(row, "ended_at") == 0u});
  }
  return all;
}

observe::ReadTable WatchedPair::table(std::size_t process, const char* name) const {
  return good(observe::read_page(processes[process].page->descriptor(), the_time)).table(name);
}

std::string WatchedPair::text(std::size_t process, const char* name, const char* field) const {
  const observe::ReadTable rows = table(process, name);
  REQUIRE(rows.rows.size() == 1);
  return rows.text(rows.rows[0], field);
}

std::uint64_t WatchedPair::number(std::size_t process, const char* name, const char* field) const {
  const observe::ReadTable rows = table(process, name);
  REQUIRE(rows.rows.size() == 1);
  return rows.number(rows.rows[0], field).value();
}

transport::Request* WatchedPair::post_receive() {
  const transport::ReceiveBuffer buffer{.data = in.data(), .size = in.size(), .tag = 0, .region = in_region};
  return good(receive->irecv(std::span(&buffer, 1)));
}

transport::Request* WatchedPair::post_send() {
  return good(send->isend(out.data(), out.size(), 0, out_region));
}

void WatchedPair::exchange() {
  transport::Request* to = post_receive();
  world.fabric.run();
  transport::Request* from = post_send();
  REQUIRE(from != nullptr);
  bool sent = false, received = false;
  for (int i = 0; i < 10 && !(sent && received); ++i) {
    world.fabric.run();
    sent = sent || good(from->test(nullptr));
    received = received || good(to->test(nullptr));
  }
  REQUIRE((sent && received));
}

}  // namespace tfabric::rdma::test
