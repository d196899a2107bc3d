// Many comms, one after the other and all at once.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"
#include "tests/contract/state.h"
#include "tests/sanitized.h"

using namespace tfabric::contract;

namespace {

constexpr int kWarmUp = 200;
constexpr int kCycles = 3000;
// Two processes wait for each other some eight times a cycle, and on a busy host each time for a CPU.
constexpr std::chrono::seconds kLimit = 5 * kPatience;
// After the warm-up all pools have their size, but not all of their pages have been used yet.
constexpr std::size_t kMayGrowKib = 6144;

// The witness is connected to the peer's process while there is a comm to it, which between two cycles may
// still or not yet be so. Both processes may dial.
constexpr std::size_t kMostWitnesses = 2;

// Runs `cycle` kCycles times, and compares what the process has after kWarmUp with what it has at the end.
template <class Cycle>
void expect_no_growth([[maybe_unused]] std::size_t may_grow_kib, Cycle cycle) {
  std::size_t memory = 0, descriptors = 0;
  for (int i = 0; i < kCycles; ++i) {
    if (i == kWarmUp) {
      memory = resident_kib();
      descriptors = open_descriptors().others;
    }
    cycle(i);
  }
  const std::size_t now = resident_kib();
  CONTRACT_EXPECT(tfabric::test::kSanitized || now < memory + may_grow_kib,
                  "{} KiB after {} cycles, {} KiB after {}", memory, kWarmUp, now, kCycles);
  const Descriptors open = open_descriptors();
  CONTRACT_EXPECT(open.others <= descriptors, "{} descriptors, then {}", descriptors, open.others);
  CONTRACT_EXPECT(open.connections <= kMostWitnesses, "{} connections of the witness", open.connections);
  fmt::print("{} -> {} KiB, {} descriptors\n", memory, now, descriptors);
}

}  // namespace

CONTRACT_PART(cycling_sender) {
  Net net;
  expect_no_growth(kMayGrowKib, [&](int i) {
    void* comm = open_send(net, channel);
    Buffer buffer(1000);
    buffer.fill(static_cast<std::uint64_t>(i));
    void* memory = net.register_memory(comm, buffer.data(), 1000);
    net.wait(net.isend(comm, buffer.data(), 1000, 0, memory));
    net.deregister_memory(comm, memory);
    net.close_send(comm);
  });
  channel.meet(1);
}
CONTRACT_PART(cycling_receiver) {
  Net net;
  expect_no_growth(kMayGrowKib, [&](int i) {
    void* comm = open_recv(net, channel);
    Buffer buffer(1000);
    void* memory = net.register_memory(comm, buffer.data(), 1000);
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), 1000, 0, memory}));
    buffer.expect(static_cast<std::uint64_t>(i), 1000);
    net.deregister_memory(comm, memory);
    net.close_recv(comm);
  });
  channel.meet(1);
}

TEST_CASE("3000 comms one after the other leave no memory, descriptors or files behind", "[once]") {
  for (const pid_t process : run({{"cycling_sender"}, {"cycling_receiver"}}, {.limit = kLimit})) {
    REQUIRE(leftovers_of(process).empty());
  }
}

// NCCL leaves listeners without connections and half-open comms behind on errors.
CONTRACT_PART(cycling_alone) {
  Net net;
  int late = 0;
  // The plugin keeps the attempts of the last 200 ms at most, in about 125 KiB each.
  expect_no_growth(/*may_grow_kib=*/40000, [&](int) {
    Net::Listening listening = net.listen();
    void* comm = nullptr;
    const int code = net.table().connect(0, listening.handle.data(), &comm);
    // The time of the attempt may be over if the host stands still within the call.
    late += code == kRemoteError ? 1 : 0;
    CONTRACT_EXPECT(code == kSuccess || code == kRemoteError, "connect() returned {}", code);
    net.close_listen(listening.comm);
    usleep(1000);
  });
  CONTRACT_EXPECT(late < kCycles / 10, "{} of {} attempts were over at once", late, kCycles);
}

TEST_CASE("3000 listeners that are closed with an attempt under way leave nothing behind", "[once]") {
  run({{"cycling_alone"}}, {.environment = {{"TFABRIC_TCP_CONNECT_TIMEOUT_MS", "100"}}, .limit = kLimit});
}

namespace {

constexpr std::size_t kComms = 64;
constexpr std::size_t kRounds = 12;
constexpr std::size_t message_bytes(std::size_t comm, std::size_t round) {
  return (comm * 1009 + round * 40013) % 200000;
}
constexpr std::uint64_t message_seed(std::size_t comm, std::size_t round) {
  return comm * kRounds + round + 1;
}

// One comm's current message, in one direction.
struct Lane {
  void* comm = nullptr;
  void* request = nullptr;
  std::size_t round = 0;
  std::vector<Buffer> buffer;
};

// Both return true if the lane has nothing left to do.
bool drive_send(Net& net, Lane& lane, std::size_t number) {
  if (lane.round == kRounds) return true;
  if (lane.request == nullptr) {
    if (lane.buffer.empty())
      lane.buffer.emplace_back(message_bytes(number, lane.round)).fill(message_seed(number, lane.round));
    lane.request = net.try_isend(lane.comm, lane.buffer[0].data(), lane.buffer[0].size(), 0);
  } else if (net.test(lane.request)) {
    lane.request = nullptr;
    lane.buffer.clear();
    ++lane.round;
  }
  return false;
}
bool drive_receive(Net& net, Lane& lane, std::size_t number) {
  if (lane.round == kRounds) return true;
  if (lane.request == nullptr) {
    if (lane.buffer.empty()) lane.buffer.emplace_back(message_bytes(number, lane.round) + 64);
    const PluginReceive receive{lane.buffer[0].data(), lane.buffer[0].size(), 0, nullptr};
    lane.request = net.try_irecv(lane.comm, std::span(&receive, 1));
  } else if (net.test(lane.request)) {
    lane.buffer[0].expect(message_seed(number, lane.round), message_bytes(number, lane.round));
    lane.request = nullptr;
    lane.buffer.clear();
    ++lane.round;
  }
  return false;
}

// Comms with even numbers carry messages one way, those with odd numbers the other.
void use_all(Channel& channel, std::size_t sends_if) {
  Net net;
  std::vector<Lane> lanes(kComms);
  for (std::size_t i = 0; i < kComms; ++i) {
    lanes[i].comm = i % 2 == sends_if ? open_send(net, channel) : open_recv(net, channel);
  }
  const Deadline deadline;
  for (bool done = false; !done;) {
    done = true;
    for (std::size_t i = 0; i < kComms; ++i) {
      done = (i % 2 == sends_if ? drive_send : drive_receive)(net, lanes[i], i) && done;
    }
    deadline.check("traffic on all comms");
  }
  channel.meet(1);
  for (std::size_t i = 0; i < kComms; ++i) {
    i % 2 == sends_if ? net.close_send(lanes[i].comm) : net.close_recv(lanes[i].comm);
  }
}

}  // namespace

CONTRACT_PART(even_sender) { use_all(channel, 0); }
CONTRACT_PART(odd_sender) { use_all(channel, 1); }

TEST_CASE("64 comms carry messages both ways at once", "[once]") { run({{"even_sender"}, {"odd_sender"}}); }
