// Single messages: sizes, contents, order, refusal.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

constexpr std::size_t kSizes[] = {
    0, 1, 7, 8, 127, 128, 129, 4096, 4097, 9001, 1 << 16, 1 << 20, (1 << 20) + 13, 64 << 20};

// Capacity beyond the message, and misalignment, of receive `i`.
std::size_t spare(std::size_t i) { return i % 3 * 500; }
std::size_t misaligned(std::size_t i) { return i * 7; }

}  // namespace

CONTRACT_PART(sizes_sender) {
  Net net;
  void* comm = open_send(net, channel);
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    Buffer buffer(kSizes[i], misaligned(i + 3));
    buffer.fill(i);
    void* memory = kSizes[i] == 0 ? nullptr : net.register_memory(comm, buffer.data(), kSizes[i]);
    void* request = net.isend(comm, buffer.data(), kSizes[i], static_cast<int>(i), memory);
    net.wait(request);
    // The plugin must not read the buffer of a request that is done.
    buffer.clear();
    if (memory != nullptr) net.deregister_memory(comm, memory);
  }
  channel.meet(1);
  net.close_send(comm);
}
CONTRACT_PART(sizes_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    Buffer buffer(kSizes[i] + spare(i), misaligned(i));
    void* memory = buffer.size() == 0 ? nullptr : net.register_memory(comm, buffer.data(), buffer.size());
    int size = -1;
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), static_cast<int>(i), memory}),
             &size);
    CONTRACT_EXPECT(static_cast<std::size_t>(size) == kSizes[i], "{} bytes reported for {}", size, kSizes[i]);
    buffer.expect(i, kSizes[i]);
    if (memory != nullptr) net.deregister_memory(comm, memory);
  }
  channel.meet(1);
  net.close_recv(comm);
}

TEST_CASE("messages of 0 bytes to 64 MiB arrive whole, alone, and with their size", "[each][slow]") {
  SECTION("maxRecvs 8") { run({{"sizes_sender"}, {"sizes_receiver"}}); }
  SECTION("maxRecvs 1") { run({{"sizes_sender"}, {"sizes_receiver"}}, {.environment = kUngrouped}); }
}

// Messages that are sent and acknowledged before a receive waits for them.
CONTRACT_PART(early_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(1000);
  buffer.fill(7);
  channel.meet(1);
  net.wait(net.isend(comm, buffer.data(), 1000, 0));
  for (int i = 0; i < 3; ++i) net.wait(net.isend(comm, nullptr, 0, 0));
  channel.meet(2);  // everything is sent
  channel.meet(3);
  for (int i = 0; i < 2; ++i) {
    void* request = net.isend(comm, buffer.data(), 0, 0);
    net.wait(request);
    channel.meet(4);
    channel.meet(5);
  }
  net.wait(net.isend(comm, buffer.data(), 1000, 0));
  channel.meet(6);
  net.close_send(comm);
}
CONTRACT_PART(late_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(2000);
  void* first = net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr});
  channel.meet(1);
  net.wait(first);
  channel.meet(2);
  const auto expect_empty = [&] {
    int size = -1;
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}), &size);
    CONTRACT_EXPECT(size == 0, "{} bytes for a message of none", size);
  };
  for (int i = 0; i < 3; ++i) expect_empty();
  channel.meet(3);
  for (int i = 0; i < 2; ++i) {
    channel.meet(4);
    expect_empty();
    channel.meet(5);
  }
  buffer.clear();
  channel.meet(6);
  net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
  buffer.expect(7, 1000);
  net.close_recv(comm);
}

TEST_CASE("a message of no bytes completes its receive also when it came first", "[each][ungrouped]") {
  run({{"early_sender"}, {"late_receiver"}}, {.environment = kUngrouped});
}

constexpr std::size_t kMany = 64;  // NCCL needs 32
// All sizes differ, and some are large.
constexpr std::size_t size_of_message(std::size_t i) { return i * 37 + (i % 16 == 5 ? 300000 : 0); }

CONTRACT_PART(many_sender) {
  Net net;
  void* comm = open_send(net, channel);
  channel.meet(1);
  std::vector<Buffer> buffers;
  std::vector<void*> requests;
  for (std::size_t i = 0; i < kMany; ++i) {
    buffers.emplace_back(size_of_message(i)).fill(i);
    requests.push_back(net.isend(comm, buffers[i].data(), buffers[i].size(), static_cast<int>(i % 4)));
  }
  // NCCL tests only the oldest request.
  for (void* request : requests) net.wait(request);
  channel.meet(2);
  net.close_send(comm);
}
CONTRACT_PART(many_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  std::vector<Buffer> buffers;
  std::vector<void*> requests;
  for (std::size_t i = 0; i < kMany; ++i) {
    Buffer& buffer = buffers.emplace_back(size_of_message(i) + 100);
    const PluginReceive receive{buffer.data(), buffer.size(), static_cast<int>(i % 4), nullptr};
    requests.push_back(net.irecv(comm, receive));
  }
  channel.meet(1);
  for (std::size_t i = 0; i < kMany; ++i) {
    int size = -1;
    net.wait(requests[i], &size);
    CONTRACT_EXPECT(static_cast<std::size_t>(size) == size_of_message(i), "{} bytes in receive {}", size, i);
    buffers[i].expect(i, size_of_message(i));
  }
  channel.meet(2);
  net.close_recv(comm);
}

TEST_CASE("64 requests are outstanding at once and complete in order", "[each]") {
  SECTION("maxRecvs 8") { run({{"many_sender"}, {"many_receiver"}}); }
  SECTION("maxRecvs 1") { run({{"many_sender"}, {"many_receiver"}}, {.environment = kUngrouped}); }
}

constexpr std::size_t kMost = 2000;

CONTRACT_PART(refused_sender) {
  Net net;
  void* comm = open_send(net, channel);
  std::byte bytes[64]{};
  // No receive is announced yet.
  for (int i = 0; i < 1000; ++i)
    CONTRACT_EXPECT(net.try_isend(comm, bytes, 64, 0) == nullptr, "no receive was posted");
  channel.meet(1);
  const auto count = channel.receive<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) {
    fill_pattern(bytes, sizeof bytes, i);
    net.wait(net.isend(comm, bytes, sizeof bytes, 0));
  }
  CONTRACT_EXPECT(net.try_isend(comm, bytes, 64, 0) == nullptr, "all receives have their message");
  channel.meet(2);
  net.wait(net.isend(comm, bytes, sizeof bytes, 0));
  net.close_send(comm);
}
CONTRACT_PART(refused_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  channel.meet(1);
  std::vector<Buffer> buffers(kMost, Buffer(0));
  std::vector<void*> requests;
  // A transport may be busy with the comm for a moment. A receive that is refused again and again is refused
  // for lack of room.
  int refusals = 0;
  while (requests.size() < kMost && refusals < 300) {
    Buffer& buffer = buffers[requests.size()];
    if (buffer.size() == 0) buffer = Buffer(64);
    const PluginReceive receive{buffer.data(), 64, 0, nullptr};
    void* request = net.try_irecv(comm, std::span(&receive, 1));
    if (request == nullptr) {
      ++refusals;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    refusals = 0;
    requests.push_back(request);
  }
  CONTRACT_EXPECT(requests.size() >= 32 && requests.size() < kMost, "{} receives were taken",
                  requests.size());
  channel.send(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    net.wait(requests[i]);
    buffers[i].expect(i, 64);
  }
  channel.meet(2);
  Buffer last(64);
  net.wait(net.irecv(comm, PluginReceive{last.data(), 64, 0, nullptr}));
  last.expect(requests.size() - 1, 64);
  net.close_recv(comm);
}

TEST_CASE("what cannot be taken now is refused without an error, and taken later", "[each]") {
  run({{"refused_sender"}, {"refused_receiver"}});
}

CONTRACT_PART(wrong_tag_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(100);
  channel.meet(1);
  net.isend(comm, buffer.data(), 100, /*tag=*/5);
  channel.meet(2);
  // The comm of the receiver has failed, and so has this one.
  CONTRACT_EXPECT(net.send_until_error(comm, buffer).code == kRemoteError, "a remote error");
  net.close_send(comm);
}
CONTRACT_PART(wrong_tag_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(100);
  void* request = net.irecv(comm, PluginReceive{buffer.data(), 100, /*tag=*/6, nullptr});
  channel.meet(1);
  CONTRACT_EXPECT(net.wait_for_error(request).code == 5, "invalid usage");
  channel.meet(2);
  buffer.expect(0, 0);
  net.close_recv(comm);
}
CONTRACT_PART(too_long_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(101);
  channel.meet(1);
  // The sender may not notice, but the receiver gets an error.
  void* handle = net.handle_for(comm, buffer.data(), 101);
  void* request = nullptr;
  const Deadline deadline;
  while (net.table().isend(comm, buffer.data(), 101, 0, handle, &request) == kSuccess && request == nullptr) {
    deadline.check("isend");
  }
  channel.meet(2);
  net.close_send(comm);
}
CONTRACT_PART(too_long_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(100);
  void* request = net.irecv(comm, PluginReceive{buffer.data(), 100, 0, nullptr});
  channel.meet(1);
  CONTRACT_EXPECT(net.wait_for_error(request).code == 5, "invalid usage");
  bool told = false;
  for (const LogLine& line : log_lines()) told = told || line.text.find("truncated") != std::string::npos;
  CONTRACT_EXPECT(told, "the user's mistake is named");
  channel.meet(2);
  buffer.expect(0, 0);
  net.close_recv(comm);
}

TEST_CASE("a message that is longer than its receive is the user's error, and touches nothing", "[each]") {
  run({{"too_long_sender"}, {"too_long_receiver"}});
}

TEST_CASE("a message with another tag than its receive is the user's error, and touches nothing",
          "[each][ungrouped][tags]") {
  run({{"wrong_tag_sender"}, {"wrong_tag_receiver"}}, {.environment = kUngrouped});
}

// With NCCL's LL protocols *request holds a flag: the request need not be tracked. The plugin may ignore the
// flag, but must not leave it in *request. Net checks this for other old values.
CONTRACT_PART(flagged) {
  Net net;
  const Loop loop = open_loop(net);
  Buffer buffer(64);
  const PluginReceive receive{buffer.data(), 64, 0, net.handle_for(loop.recv, buffer.data(), 64)};
  void* const flag = reinterpret_cast<void*>(std::uintptr_t{1});
  void* request = flag;
  CONTRACT_EXPECT(net.table().irecv(loop.recv, std::span(&receive, 1), &request) == kSuccess, "irecv");
  CONTRACT_EXPECT(request != flag, "core would test address 1");
  void* flushed = nullptr;
  CONTRACT_EXPECT(net.table().iflush(loop.recv, std::span(&receive, 1), &flushed) == kSuccess, "iflush");
  if (flushed != nullptr) net.wait(flushed);
}

TEST_CASE("the flag for optional completion is overwritten, and a flush is possible", "[each]") {
  run({{"flagged"}});
}
