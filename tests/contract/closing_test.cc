// The end of comms: NCCL deregisters, frees the buffers and closes, also with requests outstanding.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/contract/mapping.h"
#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

constexpr std::size_t kLarge = 64u << 20;
// How long it takes within a host until a peer knows that its comm is gone.
constexpr std::chrono::milliseconds kSoon{3000};

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// These tests usually interrupt a transfer in its middle. Where their thread gets no CPU for long, the keeper
// thread may complete the transfer first.

// Tests a receive until its first bytes are there. Returns true if the request is done then.
bool wait_for_first_bytes(Net& net, void* request, const std::byte* data) {
  const Deadline deadline;
  while (*static_cast<const volatile std::byte*>(data) == std::byte{0}) {
    if (net.test(request)) return true;
    deadline.check("the first bytes");
  }
  return false;
}

// Waits until a request is done or has failed, and returns the code of its last test().
int code_at_end(Net& net, void* request) {
  int done = 0, code = kSuccess;
  for (const Deadline deadline; code == kSuccess && done == 0; deadline.check("the end of a request"))
    code = net.table().test(request, &done, nullptr);
  return code;
}

}  // namespace

// --- memory is deregistered in the middle of a transfer; the requests of the other part fail

CONTRACT_PART(plain_large_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(kLarge);
  buffer.fill(1);
  const auto failure = net.send_until_error(comm, buffer);
  CONTRACT_EXPECT(failure.code == kRemoteError && failure.after < limit(kSoon), "code {} after {} ms",
                  failure.code, failure.after.count());
  channel.meet(1);
  net.close_send(comm);
}
CONTRACT_PART(deregistering_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer other(100);
  const Mapping memory(kLarge);
  void* handle = net.register_memory(comm, memory.data(), kLarge);
  void* request = net.irecv(comm, PluginReceive{memory.data(), kLarge, 0, handle});
  // No message has this tag.
  void* never = net.irecv(comm, PluginReceive{memory.data(), 100, 7, handle});
  void* behind = net.irecv(comm, PluginReceive{other.data(), 100, 7, nullptr});
  const bool over = wait_for_first_bytes(net, request, memory.data());
  net.deregister_memory(comm, handle);
  fill_pattern(memory.data(), kLarge, 77);
  channel.meet(1);
  pause_ms(100);
  expect_pattern(memory.data(), kLarge, 77);
  memory.forbid();
  if (!over) code_at_end(net, request);
  net.wait_for_error(never);
  net.wait_for_error(behind);
  pause_ms(50);
  net.close_recv(comm);
}
CONTRACT_PART(deregistering_sender) {
  Net net;
  void* comm = open_send(net, channel);
  std::list<Mapping> used;  // none of it may be touched until the end
  for (bool interrupted = false; !interrupted;) {
    const Mapping& memory = used.emplace_back(kLarge);
    fill_pattern(memory.data(), kLarge, 1);
    void* handle = net.register_memory(comm, memory.data(), kLarge);
    void* request = net.isend(comm, memory.data(), kLarge, 0, handle);
    bool over = false;
    for (int i = 0; i < 200 && !over; ++i) over = net.test(request);
    net.deregister_memory(comm, handle);
    // A retransmission would read this memory.
    memory.forbid();
    interrupted = !over && code_at_end(net, request) != kSuccess;
  }
  channel.meet(1);
  pause_ms(100);
  net.close_send(comm);
}
CONTRACT_PART(plain_large_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(kLarge);
  const auto failure = net.receive_until_error(comm, buffer);
  CONTRACT_EXPECT(failure.code == kRemoteError && failure.after < limit(kSoon), "code {} after {} ms",
                  failure.code, failure.after.count());
  channel.meet(1);
  net.close_recv(comm);
}

TEST_CASE("memory that is deregistered while requests use it is left alone from then on", "[each]") {
  SECTION("by the receiver") { run({{"deregistering_receiver"}, {"plain_large_sender"}}); }
  SECTION("by the sender") { run({{"deregistering_sender"}, {"plain_large_receiver"}}); }
}

// --- comms are closed with requests outstanding: deregister, free, close, never test again

CONTRACT_PART(abandoning_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  const Mapping memory(kLarge);
  void* handle = net.register_memory(comm, memory.data(), kLarge);
  constexpr std::size_t kPiece = kLarge / 32;
  void* first = nullptr;
  for (std::size_t i = 0; i < 32; ++i) {
    void* request = net.irecv(comm, PluginReceive{memory.data() + i * kPiece, kPiece, 0, handle});
    if (first == nullptr) first = request;
  }
  if (channel.receive<bool>()) wait_for_first_bytes(net, first, memory.data());
  net.deregister_memory(comm, handle);
  memory.forbid();
  net.close_recv(comm);
  channel.meet(1);
  pause_ms(100);
}
CONTRACT_PART(abandoned_sender) {
  Net net;
  void* comm = open_send(net, channel);
  channel.send(true);
  Buffer buffer(kLarge / 32);
  const auto failure = net.send_until_error(comm, buffer);
  CONTRACT_EXPECT(failure.code == kRemoteError && failure.after < limit(kSoon), "code {} after {} ms",
                  failure.code, failure.after.count());
  net.close_send(comm);
  channel.meet(1);
}
CONTRACT_PART(abandoning_sender) {
  Net net;
  void* comm = open_send(net, channel);
  const Mapping memory(kLarge);
  fill_pattern(memory.data(), kLarge, 1);
  void* handle = net.register_memory(comm, memory.data(), kLarge);
  for (std::size_t i = 0; i < 4; ++i) net.isend(comm, memory.data(), kLarge, 0, handle);
  channel.meet(1);
  net.deregister_memory(comm, handle);
  memory.forbid();
  net.close_send(comm);
  channel.meet(2);
  pause_ms(100);
}
CONTRACT_PART(abandoned_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  std::vector<Buffer> buffers(5, Buffer(0));
  std::vector<void*> requests;
  for (Buffer& buffer : buffers) {
    buffer = Buffer(kLarge);
    requests.push_back(net.irecv(comm, PluginReceive{buffer.data(), kLarge, 0, nullptr}));
  }
  channel.meet(1);
  CONTRACT_EXPECT(net.wait_for_error(requests.back()).after < limit(kSoon), "late");
  net.close_recv(comm);
  channel.meet(2);
}

TEST_CASE("comms are closed with requests outstanding, and those of the other side fail soon",
          "[each][slow]") {
  SECTION("the receiver's") { run({{"abandoning_receiver"}, {"abandoned_sender"}}); }
  SECTION("the sender's") { run({{"abandoning_sender"}, {"abandoned_receiver"}}); }
}

// --- a comm is closed while the other end posts and tests: only a test may fail there

// Keeps some requests outstanding until the test of one fails, and returns its code.
template <class Post>
static int use_until_test_fails(Net& net, Post post) {
  std::deque<void*> requests;
  for (const Deadline deadline;; deadline.check("an error of test()")) {
    if (requests.size() < 4) {
      if (void* request = post()) requests.push_back(request);
    }
    if (requests.empty()) continue;
    int done = 0;
    const int code = net.table().test(requests.front(), &done, nullptr);
    if (code != kSuccess) return code;
    if (done != 0) requests.pop_front();
  }
}
static int send_until_test_fails(Net& net, void* comm, Buffer& buffer) {
  void* handle = net.handle_for(comm, buffer.data(), buffer.size());
  return use_until_test_fails(net,
                              [&] { return net.try_isend(comm, buffer.data(), buffer.size(), 0, handle); });
}
static int receive_until_test_fails(Net& net, void* comm, Buffer& buffer) {
  const PluginReceive receive{buffer.data(), buffer.size(), 0,
                              net.handle_for(comm, buffer.data(), buffer.size())};
  return use_until_test_fails(net, [&] { return net.try_irecv(comm, std::span(&receive, 1)); });
}

// One message arrives, and then one end is closed with further requests of its own.
static void leave(Channel& channel, bool sends) {
  Net net;
  void* comm = sends ? open_send(net, channel) : open_recv(net, channel);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 8; ++i) buffers.emplace_back(256u << 10);
  void* first = nullptr;
  for (Buffer& buffer : buffers) {
    const PluginReceive receive{buffer.data(), buffer.size(), 0, nullptr};
    void* request = sends ? net.try_isend(comm, buffer.data(), buffer.size(), 0)
                          : net.try_irecv(comm, std::span(&receive, 1));
    if (first == nullptr) first = request;
  }
  if (first == nullptr) first = net.isend(comm, buffers[0].data(), buffers[0].size(), 0);
  net.wait(first);
  channel.meet(1);
  sends ? net.close_send(comm) : net.close_recv(comm);
  channel.meet(2);
  channel.meet(3);
}
CONTRACT_PART(leaving_in_flight_sender) { leave(channel, /*sends=*/true); }
CONTRACT_PART(leaving_in_flight_receiver) { leave(channel, /*sends=*/false); }

CONTRACT_PART(sender_left_alone) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(256u << 10);
  net.wait(net.isend(comm, buffer.data(), buffer.size(), 0));
  channel.meet(1);
  channel.meet(2);
  // By now the comm has failed, and nothing is outstanding that could say so.
  pause_ms(100);
  const int code = send_until_test_fails(net, comm, buffer);
  CONTRACT_EXPECT(code == kRemoteError, "code {}", code);
  channel.meet(3);
  net.close_send(comm);
}
CONTRACT_PART(receiver_left_alone) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(256u << 10);
  net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
  channel.meet(1);
  channel.meet(2);
  pause_ms(100);
  const int code = receive_until_test_fails(net, comm, buffer);
  CONTRACT_EXPECT(code == kRemoteError, "code {}", code);
  channel.meet(3);
  net.close_recv(comm);
}

TEST_CASE("a peer that closes with requests in flight is no error of a post", "[each]") {
  SECTION("the receiver") { run({{"leaving_in_flight_receiver"}, {"sender_left_alone"}}); }
  SECTION("the sender") { run({{"leaving_in_flight_sender"}, {"receiver_left_alone"}}); }
}

// --- what goes on after a deregistration

CONTRACT_PART(frugal) {
  Net net;
  const Loop loop = open_loop(net);
  Buffer first(5000), second(5000), spare(5000);
  void* first_memory = net.register_memory(loop.recv, first.data(), 5000);
  void* second_memory = net.register_memory(loop.recv, second.data(), 5000);
  void* request = net.irecv(loop.recv, PluginReceive{first.data(), 5000, 0, first_memory});
  // No request uses this one.
  net.deregister_memory(loop.recv, second_memory);
  spare.fill(3);
  void* send = net.isend(loop.send, spare.data(), 5000, 0);
  net.wait(request);
  net.wait(send);
  first.expect(3, 5000);
  // No request uses this one any more.
  net.deregister_memory(loop.recv, first_memory);
  net.deregister_memory(loop.recv, nullptr);
  send_around(net, loop, 3000, 4);
  net.close_send(loop.send);
  net.close_recv(loop.recv);
}

TEST_CASE("memory that no request uses is deregistered without harm to the comm", "[each]") {
  run({{"frugal"}});
}

// --- a message is sent, and nothing is waited for: the comm is closed, and the process ends

namespace {

constexpr std::array<std::size_t, 6> kSmall{8, 0, 100, 4096, 16384, 1};
constexpr int kTimes = 24, kManyTimes = 1000;

void send_and_close(Net& net, Channel& channel, int times, int first = 0) {
  for (int i = first; i < first + times; ++i) {
    void* comm = open_send(net, channel);
    Buffer buffer(kSmall[static_cast<std::size_t>(i) % kSmall.size()]);
    buffer.fill(i);
    net.wait(net.isend(comm, buffer.data(), buffer.size(), 0));
    buffer.fill(i + 1);
    net.close_send(comm);
  }
}
void receive_last_words(Channel& channel, int times) {
  Net net;
  for (int i = 0; i < times; ++i) {
    void* comm = open_recv(net, channel);
    const std::size_t size = kSmall[static_cast<std::size_t>(i) % kSmall.size()];
    Buffer buffer(size);
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), size, 0, nullptr}));
    buffer.expect(i, size);
    net.close_recv(comm);
  }
}

}  // namespace

CONTRACT_PART(hurried_sender) {
  const auto net = std::make_unique<Net>();
  send_and_close(*net, channel, kTimes);
  std::_Exit(0);  // no finalize: nothing is sent any more
}
CONTRACT_PART(last_receiver) { receive_last_words(channel, kTimes); }
CONTRACT_PART(often_leaving_sender) {
  const auto net = std::make_unique<Net>();
  send_and_close(*net, channel, kManyTimes);
  std::_Exit(0);
}
CONTRACT_PART(often_left_receiver) { receive_last_words(channel, kManyTimes); }
// Each comm has a process of its own, which ends with it.
CONTRACT_PART(dying_senders) {
  for (int i = 0; i < kManyTimes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto net = std::make_unique<Net>();
      send_and_close(*net, channel, 1, i);
      std::_Exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      throw std::runtime_error("a sender has failed");
    }
  }
}

TEST_CASE("the last message before a comm is closed and its process ends arrives", "[each]") {
  run({{"hurried_sender"}, {"last_receiver"}});
}

TEST_CASE("the same, very often, over rails that lose packets", "[.last]") {
  run({{"often_leaving_sender"}, {"often_left_receiver"}},
      {.environment = {{"TFABRIC_FAULT", "*:loss=10%@0s"}}, .limit = 20 * kPatience});
}

// Not over vhost-user, whose wire ends with a process.
TEST_CASE("the same, where each comm's process ends with it", "[.dying]") {
  run({{"dying_senders"}, {"often_left_receiver"}},
      {.environment = {{"TFABRIC_FAULT", "*:loss=10%@0s"}}, .limit = 20 * kPatience});
}
