// Send and receive comms, connected directly over a fake fabric: one mechanism in each test.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <thread>

#include "comm_world.h"
#include "tests/gpu_pages.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;
using transport::MemoryKind;
using transport::ReceiveBuffer;

namespace {

std::vector<std::byte> bytes_from(std::size_t size, unsigned first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(first + i * 7);
  }
  return bytes;
}

// A world with one comm and a registered buffer at each end.
struct Stage {
  explicit Stage(const ConnectionOptions& options = {}, std::size_t rails = 1,
                 std::uint32_t max_message_bytes = 1u << 30, MemoryKind kind = MemoryKind::host)
      : world(1, rails, max_message_bytes), pair(world, options) {
    out_region = good(pair.send->register_memory(out.data(), out.size(), MemoryKind::host));
    in_region = good(pair.receive->register_memory(in.data(), in.size(), kind));
  }

  ReceiveBuffer buffer(std::size_t at, std::size_t size, int tag = 0) {
    return {.data = in.data() + at, .size = size, .tag = tag, .region = in_region};
  }
  transport::Request* post(const std::vector<ReceiveBuffer>& buffers) {
    return good(pair.receive->irecv(buffers));
  }
  transport::Request* send(std::size_t at, std::size_t size, int tag = 0) {
    return good(pair.send->isend(out.data() + at, size, tag, out_region));
  }
  void finish(transport::Request* request, int* sizes = nullptr) {
    REQUIRE(request != nullptr);
    for (int i = 0; i < 10; ++i) {
      world.fabric.run();
      if (good(request->test(sizes))) {
        return;
      }
    }
    FAIL("a request does not end");
  }
  // Returns the error with which the request ends.
  Error failure(transport::Request* request) {
    REQUIRE(request != nullptr);
    for (int i = 0; i < 10; ++i) {
      world.fabric.run();
      if (const Result<bool> tested = request->test(nullptr); !tested) {
        return tested.error();
      }
    }
    FAIL("a request does not fail");
    return {};
  }

  World world;
  std::vector<std::byte> out = bytes_from(100000, 1), in = bytes_from(100000, 99);
  Pair pair;
  transport::MemoryRegion* out_region = nullptr;
  transport::MemoryRegion* in_region = nullptr;
};

}  // namespace

TEST_CASE("a message is refused until its receive is announced, and then lands in it") {
  Stage stage;
  REQUIRE(stage.send(0, 1000) == nullptr);
  transport::Request* receive = stage.post({stage.buffer(500, 2000)});
  REQUIRE(stage.send(0, 1000) == nullptr);
  stage.world.fabric.run();
  transport::Request* send = stage.send(0, 1000);
  const std::vector<std::byte> before = stage.in;
  int received = -1, sent = -1;
  stage.finish(receive, &received);
  stage.finish(send, &sent);
  REQUIRE(received == 1000);
  REQUIRE(sent == 1000);
  REQUIRE(std::equal(stage.out.begin(), stage.out.begin() + 1000, stage.in.begin() + 500));
  REQUIRE(std::equal(before.begin(), before.begin() + 500, stage.in.begin()));
  REQUIRE(std::equal(before.begin() + 1500, before.end(), stage.in.begin() + 1500));
}

TEST_CASE("a message of no bytes is a message, also without a registration") {
  Stage stage;
  const std::vector<ReceiveBuffer> nothing{{.data = nullptr, .size = 0, .tag = 0, .region = nullptr}};
  transport::Request* receive = stage.post(nothing);
  stage.world.fabric.run();
  transport::Request* send = good(stage.pair.send->isend(nullptr, 0, 0, nullptr));
  int size = -1;
  stage.finish(receive, &size);
  stage.finish(send);
  REQUIRE(size == 0);
}

TEST_CASE("within a group messages are matched by tag, and across groups in order") {
  Stage stage;
  transport::Request* group =
      stage.post({stage.buffer(0, 100, 7), stage.buffer(100, 100, 8), stage.buffer(200, 100, 7)});
  transport::Request* next = stage.post({stage.buffer(300, 100, 9)});
  stage.world.fabric.run();
  REQUIRE(stage.send(0, 10, 9) == nullptr);  // belongs to the next group
  std::vector<transport::Request*> sends{stage.send(0, 10, 8), stage.send(1000, 20, 7)};
  REQUIRE(stage.send(0, 10, 8) == nullptr);  // its receive is in use
  sends.push_back(stage.send(2000, 0, 7));
  sends.push_back(stage.send(3000, 40, 9));
  std::array<int, 3> sizes{};
  stage.finish(group, sizes.data());
  REQUIRE(sizes == std::array{20, 10, 0});
  int size = 0;
  stage.finish(next, &size);
  REQUIRE(size == 40);
  for (transport::Request* send : sends) {
    stage.finish(send);
  }
  REQUIRE(std::equal(stage.in.begin(), stage.in.begin() + 20, stage.out.begin() + 1000));
  REQUIRE(std::equal(stage.in.begin() + 100, stage.in.begin() + 110, stage.out.begin()));
}

TEST_CASE("a message of an incomplete group goes out with the next test") {
  Stage stage;
  transport::Request* group = stage.post({stage.buffer(0, 100, 1), stage.buffer(100, 100, 2)});
  stage.world.fabric.run();
  transport::Request* first = stage.send(0, 50, 1);
  stage.finish(first);
  REQUIRE_FALSE(good(group->test(nullptr)));
  transport::Request* second = stage.send(50, 50, 2);
  stage.finish(second);
  stage.finish(group);
}

TEST_CASE("a group costs one doorbell and one completion at each end") {
  Stage stage;
  std::vector<ReceiveBuffer> buffers;
  for (int i = 0; i < 8; ++i) {
    buffers.push_back(stage.buffer(static_cast<std::size_t>(i) * 100, 100, i));
  }
  transport::Request* group = stage.post(buffers);
  stage.world.fabric.run();
  const FakeFabric& fabric = stage.world.fabric;
  const std::size_t doorbells = fabric.doorbells, sent = fabric.send_completions,
                    received = fabric.receive_completions;
  std::vector<transport::Request*> sends;
  for (int i = 0; i < 8; ++i) {
    sends.push_back(stage.send(static_cast<std::size_t>(i) * 10, 10, i));
  }
  stage.finish(group);
  for (transport::Request* send : sends) {
    stage.finish(send);
  }
  REQUIRE(fabric.doorbells - doorbells == 1);
  REQUIRE(fabric.send_completions - sent == 1);
  REQUIRE(fabric.receive_completions - received == 1);
}

TEST_CASE("receives are posted in batches, and announcements hardly complete") {
  Stage stage;
  const FakeFabric& fabric = stage.world.fabric;
  const std::size_t receive_doorbells = fabric.receive_doorbells, completions = fabric.send_completions;
  constexpr int kMessages = 320;
  for (int i = 0; i < kMessages; ++i) {
    transport::Request* receive = stage.post({stage.buffer(0, 64)});
    stage.world.fabric.run();
    stage.finish(stage.send(0, 64));
    stage.finish(receive);
  }
  REQUIRE(fabric.receive_doorbells - receive_doorbells == kMessages / kReceiveBatch);
  REQUIRE(fabric.send_completions - completions <= kMessages + kMessages / 16);
  REQUIRE(fabric.not_ready == 0);
}

TEST_CASE("256 receives can be posted and as many messages sent; further ones are refused until some end") {
  Stage stage;
  std::vector<transport::Request*> receives, sends;
  while (true) {
    stage.world.fabric.run();
    transport::Request* receive = stage.post({stage.buffer(receives.size() * 8, 8)});
    if (receive == nullptr && receives.size() == transport::kMaxRequests) {
      break;
    }
    // The ring has room, but completions of the send queue must be processed now and then, so a refused
    // receive is tried again.
    if (receive != nullptr) {
      receives.push_back(receive);
    }
    REQUIRE(receives.size() <= transport::kMaxRequests);
  }
  stage.world.fabric.run();
  for (std::size_t i = 0; i < transport::kMaxRequests; ++i) {
    sends.push_back(stage.send(i * 8, 8));
    REQUIRE(sends.back() != nullptr);
  }
  REQUIRE(stage.send(0, 8) == nullptr);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    stage.finish(sends[i]);
    stage.finish(receives[i]);
  }
  REQUIRE(stage.post({stage.buffer(0, 8)}) != nullptr);
}

TEST_CASE("32 groups of 8 receives fill the ring, which goes round with groups of any size") {
  Stage stage;
  for (int round = 0; round < 5; ++round) {
    std::vector<transport::Request*> receives;
    const std::size_t members = round % 2 == 0 ? 8 : 5;
    while (receives.size() < transport::kMaxRequests / members) {
      std::vector<ReceiveBuffer> buffers;
      for (std::size_t i = 0; i < members; ++i) {
        buffers.push_back(stage.buffer((receives.size() * 8 + i) * 16, 16, static_cast<int>(i)));
      }
      if (transport::Request* receive = stage.post(buffers)) {
        receives.push_back(receive);
      }
      stage.world.fabric.run();
    }
    if (members == 8) {
      REQUIRE(stage.post({stage.buffer(0, 16)}) == nullptr);
    }
    for (transport::Request* receive : receives) {
      std::vector<transport::Request*> sends;
      for (std::size_t i = 0; i < members; ++i) {
        sends.push_back(stage.send(i, i + 1, static_cast<int>(i)));
      }
      for (transport::Request* send : sends) {
        stage.finish(send);
      }
      std::array<int, 8> sizes{};
      stage.finish(receive, sizes.data());
      REQUIRE(sizes[members - 1] == static_cast<int>(members));
    }
  }
}

TEST_CASE(
    "a large message is cut over all queue pairs and rails at whole lines, a small one takes one of them") {
  Stage stage({.queue_pairs = 2, .split_bytes = 4096}, 2);
  transport::Request* receive = stage.post({stage.buffer(0, 50000)});
  stage.world.fabric.run();
  FakeFabric& fabric = stage.world.fabric;
  std::vector<std::uint64_t> pieces;
  const auto base = reinterpret_cast<std::uint64_t>(stage.in.data());
  fabric.may_write = [&](std::uint64_t address, std::uint32_t) {
    pieces.push_back(address - base);
    return true;
  };
  const std::size_t before = fabric.receive_completions;
  transport::Request* send = stage.send(0, 40000);
  stage.finish(send);
  int size = 0;
  stage.finish(receive, &size);
  REQUIRE(size == 40000);
  REQUIRE(fabric.receive_completions - before == 4);
  for (const std::uint64_t begin : {0u, 10112u, 20224u, 30336u}) {
    REQUIRE(std::count(pieces.begin(), pieces.end(), begin) == 1);
  }
  REQUIRE(std::equal(stage.out.begin(), stage.out.begin() + 40000, stage.in.begin()));
  const std::size_t then = fabric.receive_completions;
  receive = stage.post({stage.buffer(0, 4096)});
  fabric.run();
  stage.finish(stage.send(0, 4096));
  stage.finish(receive);
  REQUIRE(fabric.receive_completions - then == 1);
}

TEST_CASE("128 queue pairs carry groups in turn, or all of them a part of each message") {
  const std::uint64_t split = GENERATE(~std::uint64_t{0}, 0u);
  Stage stage({.queue_pairs = 128, .split_bytes = split});
  for (int turn = 0; turn < 130; ++turn) {
    transport::Request* receive = stage.post({stage.buffer(0, 50000)});
    stage.world.fabric.run();
    transport::Request* send = stage.send(static_cast<std::size_t>(turn), 50000);
    stage.finish(receive);
    stage.finish(send);
    REQUIRE(std::equal(stage.in.begin(), stage.in.begin() + 50000, stage.out.begin() + turn));
  }
  REQUIRE(stage.world.fabric.violations.empty());
}

TEST_CASE("for adaptive routing a large message is followed by an empty write that brings the immediate") {
  Stage stage({.adaptive_routing_bytes = 8192});
  const auto sends_for = [&](std::size_t size) {
    transport::Request* receive = stage.post({stage.buffer(0, size)});
    stage.world.fabric.run();
    const std::size_t before = stage.world.fabric.sends;
    stage.finish(stage.send(0, size));
    int arrived = 0;
    stage.finish(receive, &arrived);
    REQUIRE(arrived == static_cast<int>(size));
    return stage.world.fabric.sends - before;
  };
  REQUIRE(sends_for(8192) == 1);
  REQUIRE(sends_for(8193) == 2);
}

TEST_CASE("a message longer than a work request and than the send queue arrives whole") {
  Stage stage({}, 1, 128);
  transport::Request* receive = stage.post({stage.buffer(0, 100000)});
  stage.world.fabric.run();
  transport::Request* send = stage.send(0, 100000);
  while (!good(send->test(nullptr))) {
    stage.world.fabric.run();
  }
  stage.finish(receive);
  REQUIRE(stage.in == stage.out);
  REQUIRE(stage.world.fabric.violations.empty());
}

TEST_CASE("a message larger than its receive fails both ends, and both sizes are named") {
  Stage stage;
  const bool grouped = GENERATE(false, true);
  std::vector<ReceiveBuffer> buffers{stage.buffer(0, 100, 1)};
  if (grouped) {
    buffers.push_back(stage.buffer(100, 50, 2));
  }
  transport::Request* receive = stage.post(buffers);
  stage.world.fabric.run();
  const auto sent = stage.pair.send->isend(stage.out.data(), 200, grouped ? 2 : 1, stage.out_region);
  REQUIRE_FALSE(sent.ok());
  REQUIRE(sent.error().code == Errc::invalid_usage);
  const char* sizes = grouped ? "200 bytes were sent to a receive of 50 bytes by host-b"
                              : "200 bytes were sent to a receive of 100 bytes by host-b";
  REQUIRE_THAT(sent.error().message, Contains(sizes));
  const Error error = stage.failure(receive);
  REQUIRE(error.code == Errc::invalid_usage);
  REQUIRE_THAT(error.message, Contains(grouped ? "200 bytes were sent by host-a to a receive of 50 bytes"
                                               : "200 bytes were sent by host-a to a receive of 100 bytes"));
}

TEST_CASE("a failed completion fails all requests of the comm with one error that says what it means") {
  Stage stage;
  std::vector<transport::Request*> receives{stage.post({stage.buffer(0, 100)}),
                                            stage.post({stage.buffer(100, 100)})};
  stage.world.fabric.run();
  std::vector<transport::Request*> sends{stage.send(0, 100), stage.send(0, 100)};
  stage.world.fabric.inject(stage.pair.send_pairs[0], IBV_WC_RETRY_EXC_ERR, 0x81);
  const Error error = stage.failure(sends[0]);
  REQUIRE(error.code == Errc::remote);
  REQUIRE_THAT(
      error.message,
      Contains("queue pair 0x11 of fake_0:1 (::ffff:10.0.0.1) to 0x12 of host-b (::ffff:10.0.0.2)") &&
          Contains("RETRY_EXC_ERR (status 12, vendor code 0x81): the peer does not answer"));
  REQUIRE(stage.failure(sends[1]).message == error.message);
  REQUIRE_FALSE(stage.pair.send->isend(stage.out.data(), 1, 0, stage.out_region).ok());
  // No data reaches the receiver any more; it is failed from outside.
  stage.pair.receive->fail_from_outside(Error{Errc::remote, "the peer has gone"});
  REQUIRE(stage.failure(receives[0]).message == "the peer has gone");
  REQUIRE(stage.failure(receives[1]).message == "the peer has gone");
}

TEST_CASE("a peer that dies silently is noticed by the end that waits for it") {
  static Instant now{};
  now = Instant{};
  Stage stage({.queue_pairs = 2, .now = [] { return now; }});
  const auto wait = [&](const auto& attempt) {
    for (int i = 0; i < 100; ++i) {
      now += std::chrono::milliseconds(100);
      stage.world.fabric.run();
      for (std::uint32_t turn = 0; turn < Heartbeat::kQuietTurns; ++turn) {
        if (!attempt()) {
          return true;
        }
      }
    }
    return false;
  };
  SECTION("the receiver, for a message") {
    transport::Request* receive = stage.post({stage.buffer(0, 100)});
    const auto attempt = [&] { return receive->test(nullptr).ok(); };
    REQUIRE_FALSE(wait(attempt));
    stage.pair.send.reset();
    REQUIRE(wait(attempt));
  }
  SECTION("the sender, for a receive to be announced") {
    // Posts are no error: only the test of a request is.
    const auto attempt = [&] {
      transport::Request* send = stage.send(0, 1);
      return send == nullptr || send->test(nullptr).ok();
    };
    REQUIRE_FALSE(wait(attempt));
    stage.pair.receive.reset();
    REQUIRE(wait(attempt));
  }
  REQUIRE(stage.world.fabric.violations.empty());
}

TEST_CASE("requests that completed before a failure stay completed") {
  Stage stage;
  transport::Request* receive = stage.post({stage.buffer(0, 100)});
  stage.world.fabric.run();
  transport::Request* send = stage.send(0, 100);
  stage.world.fabric.run();
  transport::Request* pending = stage.post({stage.buffer(0, 100)});
  REQUIRE_FALSE(good(pending->test(nullptr)));  // processes the completion of the first
  stage.pair.receive->fail_from_outside(Error{Errc::remote, "gone"});
  REQUIRE(good(receive->test(nullptr)));
  REQUIRE_FALSE(pending->test(nullptr).ok());
  stage.finish(send);
}

TEST_CASE("what has arrived on one rail is received although another rail's queue pair has failed") {
  Stage stage({}, 2);
  transport::Request* first = stage.post({stage.buffer(0, 100)});
  transport::Request* second = stage.post({stage.buffer(100, 100)});
  stage.world.fabric.run();
  static_cast<void>(stage.send(0, 100));
  static_cast<void>(stage.send(100, 100));
  stage.world.fabric.run();
  stage.world.fabric.inject(stage.pair.receive_pairs[0], IBV_WC_RETRY_EXC_ERR, 0);
  transport::Request* third = stage.post({stage.buffer(200, 100)});
  stage.world.fabric.run();
  REQUIRE_THAT(third->test(nullptr).error().message, Contains("RETRY_EXC_ERR"));
  REQUIRE(good(first->test(nullptr)));
  REQUIRE(good(second->test(nullptr)));
  REQUIRE(std::equal(stage.in.begin(), stage.in.begin() + 200, stage.out.begin()));
}

TEST_CASE("a peer that has ended is no error of a post, but of the request's test, until that has said so") {
  static Instant now{};
  now = Instant{};
  Stage stage({.now = [] { return now; }});
  transport::Request* receive = stage.post({stage.buffer(0, 100)});
  stage.pair.send.reset();
  // The comm notices it while it probes the peer.
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    now += std::chrono::milliseconds(100);
    stage.world.fabric.run();
    for (std::uint32_t turn = 0; turn < Heartbeat::kQuietTurns && !ended; ++turn) {
      transport::Request* posted = stage.post({stage.buffer(0, 100)});  // good() checks it
      ended = posted == nullptr ? !receive->test(nullptr).ok() : !posted->test(nullptr).ok();
    }
  }
  REQUIRE(ended);
  REQUIRE_FALSE(stage.pair.receive->irecv(std::vector{stage.buffer(0, 1)}).ok());
}

TEST_CASE("memory that is deregistered under a receive is not written any more, and the comm has failed") {
  Stage stage;
  transport::Request* receive = stage.post({stage.buffer(0, 50000)});
  stage.world.fabric.run();
  transport::Request* send = stage.send(0, 50000);
  for (int i = 0; i < 3; ++i) {
    stage.world.fabric.step();
  }
  REQUIRE(stage.pair.receive->deregister_memory(stage.in_region).ok());
  const std::vector<std::byte> before = stage.in;
  REQUIRE_THAT(stage.failure(receive).message,
               Contains("deregistered while requests on it were outstanding"));
  REQUIRE_THAT(stage.failure(send).message, Contains("RETRY_EXC_ERR"));
  REQUIRE(stage.in == before);
  REQUIRE_FALSE(stage.pair.receive->irecv(std::vector{stage.buffer(0, 1)}).ok());
}

TEST_CASE("memory that no request uses is deregistered without a trace") {
  Stage stage;
  transport::Request* receive = stage.post({stage.buffer(0, 100)});
  stage.world.fabric.run();
  stage.finish(stage.send(0, 100));
  stage.finish(receive);
  REQUIRE(stage.pair.receive->deregister_memory(stage.in_region).ok());
  REQUIRE(stage.pair.send->deregister_memory(stage.out_region).ok());
  REQUIRE(stage.pair.send->deregister_memory(nullptr).ok());
  // Deregistering twice, or on another comm, is an error.
  REQUIRE_THAT(stage.pair.send->deregister_memory(stage.out_region).error().message,
               Contains("no registration on this send comm"));
  REQUIRE(stage.world.receiver.caches[0]->regions() == 0);
  REQUIRE(stage.pair.receive->register_memory(stage.in.data(), 10, MemoryKind::host).ok());
}

TEST_CASE("a comm that is closed with work outstanding leaves no object and writes nothing") {
  Stage stage;
  stage.post({stage.buffer(0, 50000)});
  stage.world.fabric.run();
  stage.send(0, 50000);
  for (int i = 0; i < 3; ++i) {
    stage.world.fabric.step();
  }
  stage.pair.receive.reset();
  const std::vector<std::byte> before = stage.in;
  stage.world.fabric.run();
  REQUIRE(stage.in == before);
  stage.pair.send.reset();
  REQUIRE(stage.world.fabric.queue_pairs().empty());
  REQUIRE(stage.world.fabric.mrs == 0);
  REQUIRE(stage.world.fabric.cqs == 0);
  REQUIRE(stage.world.fabric.violations.empty());
}

TEST_CASE("the CPU touches no memory of messages, whatever a provider takes inline") {
  const std::uint32_t granted = GENERATE(0u, 60u, 4096u);
  const std::uint32_t wished = GENERATE(0u, 64u);
  const MemoryKind registered_as = GENERATE(MemoryKind::host, MemoryKind::cuda);
  CAPTURE(granted, wished);
  World world(1);
  world.fabric.least_inline = granted;
  Pair pair(world, {.split_bytes = 100, .adaptive_routing_bytes = 200, .inline_bytes = wished});
  tfabric::test::GpuPages from(1u << 16), to(1u << 16);
  world.fabric.add_device_memory(from.address(), from.alias(), from.size());
  world.fabric.add_device_memory(to.address(), to.alias(), to.size());
  const std::vector<std::byte> content = bytes_from(from.size(), 1);
  std::copy(content.begin(), content.end(), from.alias());
  auto* const out = good(pair.send->register_memory(from.address(), from.size(), registered_as));
  auto* const in = good(pair.receive->register_memory(to.address(), to.size(), registered_as));
  from.hide_from_cpu();
  to.hide_from_cpu();

  for (const std::size_t size : {1u, 8u, 16u, 60u, 61u, 64u, 128u, 256u, 5000u}) {
    const ReceiveBuffer buffer{.data = to.address(), .size = size, .tag = 0, .region = in};
    // Alone, and in a group, whose sizes go separately.
    for (const std::size_t count : {1u, 2u}) {
      std::vector<transport::Request*> requests{good(pair.receive->irecv(std::vector(count, buffer)))};
      world.fabric.run();
      for (std::size_t i = 0; i < count; ++i) {
        requests.push_back(good(pair.send->isend(from.address(), size, 0, out)));
      }
      for (transport::Request* request : requests) {
        REQUIRE(request != nullptr);
        bool done = false;
        for (int turn = 0; turn < 10 && !done; ++turn) {
          world.fabric.run();
          done = good(request->test(nullptr));
        }
        REQUIRE(done);
      }
      REQUIRE(std::equal(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(size), to.alias()));
      std::fill_n(to.alias(), size, std::byte{0});
    }
  }
  REQUIRE(world.fabric.violations.empty());
}

TEST_CASE("a flush reads once from each buffer that has bytes, on each rail") {
  Stage stage({.queue_pairs = 1}, 2, 1u << 30, MemoryKind::cuda);
  const std::vector<ReceiveBuffer> buffers{stage.buffer(0, 10), stage.buffer(100, 0), stage.buffer(200, 20)};
  transport::Request* flush = good(stage.pair.receive->iflush(buffers));
  REQUIRE(stage.world.fabric.reads == 0);
  stage.finish(flush);
  REQUIRE(stage.world.fabric.reads == 4);
}

TEST_CASE("many flushes at once wait for room in order, and none is refused before 256") {
  Stage stage({}, 1, 1u << 30, MemoryKind::cuda);
  std::vector<transport::Request*> flushes;
  for (std::size_t i = 0; i < transport::kMaxRequests; ++i) {
    flushes.push_back(good(stage.pair.receive->iflush(
        std::vector{stage.buffer(0, 1), stage.buffer(10, 1), stage.buffer(20, 1)})));
    REQUIRE(flushes.back() != nullptr);
  }
  REQUIRE_FALSE(stage.pair.receive->iflush(std::vector{stage.buffer(0, 1)}).ok());
  for (transport::Request* flush : flushes) {
    stage.finish(flush);
  }
  REQUIRE(stage.world.fabric.reads == 3 * transport::kMaxRequests);
}

TEST_CASE("there is nothing to flush in host memory, in empty receives, or when it is switched off") {
  Stage host;
  REQUIRE(good(host.pair.receive->iflush(std::vector{host.buffer(0, 10)})) == nullptr);
  Stage empty({}, 1, 1u << 30, MemoryKind::cuda);
  REQUIRE(good(empty.pair.receive->iflush(std::vector{empty.buffer(0, 0)})) == nullptr);
  Stage off({.flush = false}, 1, 1u << 30, MemoryKind::cuda);
  REQUIRE(good(off.pair.receive->iflush(std::vector{off.buffer(0, 10)})) == nullptr);
  REQUIRE(off.world.fabric.queue_pairs().size() == 2);
}

TEST_CASE("memory that is not registered, or not all of it, is refused with the reason") {
  Stage stage;
  stage.post({stage.buffer(0, 100)});
  stage.world.fabric.run();
  const auto unregistered = stage.pair.send->isend(stage.out.data(), 10, 0, nullptr);
  REQUIRE(unregistered.error().code == Errc::invalid_argument);
  REQUIRE_THAT(unregistered.error().message, Contains("is not registered on this comm"));
  const auto beyond = stage.pair.send->isend(stage.out.data() + 99999, 2, 0, stage.out_region);
  REQUIRE_THAT(beyond.error().message, Contains("isend of 2 bytes") && Contains("not all in the memory"));
  REQUIRE_THAT(stage.pair.receive->irecv(std::vector{stage.buffer(99999, 2)}).error().message,
               Contains("irecv of 2 bytes"));
  REQUIRE_THAT(stage.pair.receive->irecv({}).error().message, Contains("irecv of 0 buffers: 1 to 8"));
  // These mistakes do not fail the comm.
  REQUIRE(stage.send(0, 100) != nullptr);
}

TEST_CASE("a failure to post or to poll fails the comm with the verb's error") {
  Stage stage;
  transport::Request* receive = stage.post({stage.buffer(0, 100)});
  stage.world.fabric.run();
  stage.world.fabric.post_send_error = ENOMEM;
  transport::Request* send = stage.send(0, 100);
  REQUIRE_THAT(stage.failure(send).message, Contains("nothing can be posted: Cannot allocate memory"));
  stage.world.fabric.poll_cq_error = EIO;
  REQUIRE_THAT(stage.failure(receive).message,
               Contains("completion queue cannot be read: Input/output error"));
}

TEST_CASE("invalid memory is not registered") {
  Stage stage;
  std::byte byte{};
  REQUIRE_FALSE(stage.pair.send->register_memory(nullptr, 1, MemoryKind::host).ok());
  REQUIRE_FALSE(stage.pair.send->register_memory(&byte, static_cast<std::size_t>(-1), MemoryKind::host).ok());
  REQUIRE(stage.pair.send->register_memory(nullptr, 0, MemoryKind::host).ok());
}

TEST_CASE("a comm knows which objects of its device are its own") {
  World world(1);
  auto endpoint = good(Endpoint::create(Role::sender, world.sender.rail_list(), {}));
  auto peer = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), {}));
  const void* qp = endpoint->pairs()[0].qp.get();
  const void* cq = endpoint->completion_queues()[0].get();
  const void* other = peer->pairs()[0].qp.get();
  good(endpoint->meet(peer->local(), "host-b"));
  good(endpoint->connect());
  const SendComm comm(std::move(endpoint), nullptr);
  REQUIRE(comm.owns(qp));
  REQUIRE(comm.owns(cq));
  REQUIRE_FALSE(comm.owns(other));
}

TEST_CASE("memory is registered and deregistered by another thread while messages are under way") {
  Stage stage;
  std::jthread other([&stage](const std::stop_token& stop) {
    std::vector<std::byte> memory(20000);
    const std::array<transport::Comm*, 2> comms{stage.pair.send.get(), stage.pair.receive.get()};
    for (std::size_t i = 0; !stop.stop_requested(); ++i) {
      transport::Comm& comm = *comms[i % 2];
      auto region = comm.register_memory(memory.data(), memory.size(), MemoryKind::host);
      if (!region || !comm.deregister_memory(*region)) {
        return;
      }
    }
  });
  const auto until_done = [&](const auto& attempt) {
    auto result = good(attempt());
    while (!result) {
      stage.world.fabric.step();
      result = good(attempt());
    }
    return result;
  };
  for (int i = 0; i < 300; ++i) {
    transport::Request* receive =
        until_done([&] { return stage.pair.receive->irecv(std::vector{stage.buffer(0, 100)}); });
    transport::Request* send =
        until_done([&] { return stage.pair.send->isend(stage.out.data(), 100, 0, stage.out_region); });
    until_done([&] { return send->test(nullptr); });
    until_done([&] { return receive->test(nullptr); });
  }
  REQUIRE(stage.world.fabric.violations.empty());
}

TEST_CASE("the path of a queue pair is the peer's GID on RoCE, its LID on InfiniBand, with the smaller MTU") {
  World world(1);
  world.sender.rails[0].mtu = IBV_MTU_4096;
  SECTION("RoCE") {
    Pair pair(world, {.traffic_class = 106, .service_level = 3, .timeout = 14, .retry_count = 5}, {});
    const ibv_qp_attr& path = world.fabric.attributes(pair.send_pairs[0]);
    REQUIRE(path.path_mtu == IBV_MTU_1024);
    REQUIRE(path.ah_attr.is_global == 1);
    REQUIRE(std::bit_cast<Gid>(path.ah_attr.grh.dgid) == world.receiver.rails[0].gid);
    REQUIRE(path.ah_attr.grh.traffic_class == 106);
    REQUIRE(path.ah_attr.sl == 3);
    REQUIRE(path.timeout == 14);
    REQUIRE(path.retry_cnt == 5);
    REQUIRE(path.sq_psn == world.fabric.attributes(pair.receive_pairs[0]).rq_psn);
  }
  SECTION("InfiniBand") {
    for (Host* host : {&world.sender, &world.receiver}) {
      host->rails[0].link_layer = LinkLayer::infiniband;
      host->rails[0].lid = 9;
    }
    Pair pair(world);
    const ibv_qp_attr& path = world.fabric.attributes(pair.send_pairs[0]);
    REQUIRE(path.ah_attr.is_global == 0);
    REQUIRE(path.ah_attr.dlid == 9);
  }
  SECTION("InfiniBand, where the port of one end demands a global route header") {
    const bool sender = GENERATE(false, true);
    for (Host* host : {&world.sender, &world.receiver}) {
      host->rails[0].link_layer = LinkLayer::infiniband;
      host->rails[0].lid = 9;
      host->rails[0].grh_required = (host == &world.sender) == sender;
    }
    Pair pair(world);
    for (const std::uint32_t number : {pair.send_pairs[0], pair.receive_pairs[0]}) {
      REQUIRE(world.fabric.attributes(number).ah_attr.is_global == 1);
      REQUIRE(world.fabric.attributes(number).ah_attr.dlid == 9);
    }
  }
}

TEST_CASE("an endpoint that cannot be made says what was asked for, and leaves nothing behind") {
  World world(1);
  FakeFabric& fabric = world.fabric;
  const auto fault = [&] {
    const auto made = Endpoint::create(Role::receiver, world.receiver.rail_list(), {.queue_pairs = 2});
    REQUIRE_FALSE(made.ok());
    REQUIRE(fabric.queue_pairs().empty());
    REQUIRE(fabric.cqs == 0);
    REQUIRE(fabric.mrs == 0);
    return made.error().message;
  };
  fabric.reg_mr_error = ENOMEM;
  REQUIRE_THAT(fault(), Contains("fake_0:1: ") && Contains("bytes cannot be registered"));
  fabric.create_cq_error = ENOMEM;
  REQUIRE_THAT(fault(), Contains("no completion queue of"));
  fabric.create_qp_error = ENOMEM;
  REQUIRE_THAT(fault(), Contains("no queue pair of 64 sends, 288 receives"));
  fabric.modify_qp_error = EINVAL;
  REQUIRE_THAT(fault(), Contains("check rdma.pkey = 0"));
}

TEST_CASE("ends that do not match are refused with what each has") {
  World world(1);
  auto from = good(Endpoint::create(Role::sender, world.sender.rail_list(), {.queue_pairs = 2}));
  auto to = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), {.queue_pairs = 1}));
  const Status connected = from->meet(to->local(), "host-b");
  REQUIRE(connected.error().code == Errc::invalid_usage);
  REQUIRE_THAT(connected.error().message,
               Contains("host-b has 1 rails with 1 queue pairs, this host 1 with 2: both ends must agree"));
  REQUIRE_FALSE(Endpoint::create(Role::sender, {}, {}).ok());
  REQUIRE_THAT(Endpoint::create(Role::sender, world.sender.rail_list(), {.queue_pairs = 129}).error().message,
               Contains("a comm of 1 rails with 129 queue pairs each"));
}

namespace {

// A comm whose peer is this test: it writes to the comm's memory and queue pairs what no correct peer does.
struct Forged {
  explicit Forged(Role role, const ConnectionOptions& options = {}) : world(1) {
    own = good(Endpoint::create(role, world.sender.rail_list(), options));
    peer = good(Endpoint::create(role == Role::sender ? Role::receiver : Role::sender,
                                 world.receiver.rail_list(), options));
    block = &own->block();
    good(peer->meet(own->local(), "host-a"));
    good(peer->connect());
    good(own->meet(peer->local(), "host-b"));
    good(own->connect());
  }

  // Sends an immediate to the comm on one of its queue pairs.
  void carry(std::uint32_t immediate, std::size_t pair = 0) {
    SendQueue queue(*peer->pairs()[pair].qp, 0, peer->pairs()[pair].cap);
    queue.stage({.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm = immediate});
    REQUIRE(queue.post() == 0);
    world.fabric.run();
  }
  // Writes the announcement of a group of receives of no address into the sender's memory.
  void announce(std::uint32_t count, std::uint32_t queue_pair) const {
    for (std::uint32_t i = 0; i < count; ++i) {
      block->announcements[slot_of(kFirstReceive) + i] = {
          .size = 100, .tag = i, .queue_pair = queue_pair, .count = count, .number = kFirstReceive + i};
    }
  }
  Announcement& announced(std::uint32_t index) const {
    return block->announcements[slot_of(kFirstReceive) + index];
  }

  World world;
  std::unique_ptr<Endpoint> own, peer;
  CommBlock* block = nullptr;
};

}  // namespace

TEST_CASE("an announcement that no correct peer writes fails the send comm and names the peer") {
  Forged forged(Role::sender, {.queue_pairs = 2});
  SECTION("no receives") {
    forged.announce(1, 0);
    forged.announced(0).count = 0;
  }
  SECTION("more receives than a group can have") {
    forged.announce(1, kAllQueuePairs);
    forged.announced(0).count = transport::kMaxGroupedReceives + 1;
  }
  SECTION("a queue pair that the comm does not have") { forged.announce(1, 2); }
  SECTION("a queue pair that no comm has") { forged.announce(1, kAllQueuePairs - 1); }
  SECTION("a receive that is of a larger group") {
    forged.announce(2, kAllQueuePairs);
    forged.announced(1).count = 8;
  }
  SECTION("a receive that is carried by another queue pair") {
    forged.announce(2, kAllQueuePairs);
    forged.announced(1).queue_pair = 1;
  }
  SendComm comm(std::move(forged.own), nullptr);
  const auto sent = comm.isend(nullptr, 0, 0, nullptr);
  REQUIRE_FALSE(sent.ok());
  REQUIRE(sent.error().code == Errc::remote);
  REQUIRE_THAT(sent.error().message, Contains("host-b announced a malformed group of receives"));
  REQUIRE(comm.isend(nullptr, 0, 0, nullptr).error().message == sent.error().message);
}

TEST_CASE("a peer that changes an announcement after it was taken reaches no memory of the sender") {
  Forged forged(Role::sender, {.queue_pairs = 2});
  forged.announce(2, 0);
  SendComm comm(std::move(forged.own), nullptr);
  std::vector<std::byte> memory(7);
  auto* region = good(comm.register_memory(memory.data(), memory.size(), MemoryKind::host));
  REQUIRE(good(comm.isend(memory.data(), memory.size(), 0, region)) != nullptr);
  forged.announced(0).queue_pair = 1u << 31;
  forged.announced(0).count = 200;
  forged.announced(1).queue_pair = 7;
  forged.announced(1).number = 0x7fffffff;
  REQUIRE(good(comm.isend(memory.data(), memory.size(), 1, region)) != nullptr);
  const auto& sizes = forged.block->sizes;
  REQUIRE(sizes[slot_of(kFirstReceive)] == 7);
  REQUIRE(sizes[slot_of(kFirstReceive) + 1] == 7);
  REQUIRE(std::count(sizes.begin(), sizes.end(), 0u) == std::ssize(sizes) - 2);
  REQUIRE(forged.world.fabric.violations.empty());
}

TEST_CASE("sizes and messages that no correct peer reports fail the receive comm and name the peer") {
  Forged forged(Role::receiver, {.queue_pairs = 2, .split_bytes = 0, .flush = false});
  auto comm = good(RecvComm::create(std::move(forged.own), nullptr));
  std::vector<std::byte> memory(1000);
  auto* region = good(comm->register_memory(memory.data(), memory.size(), MemoryKind::host));
  const auto receive = [&](const std::vector<std::size_t>& sizes) {
    std::vector<ReceiveBuffer> buffers;
    for (const std::size_t size : sizes) {
      buffers.push_back({.data = memory.data(), .size = size, .tag = 0, .region = region});
    }
    return good(comm->irecv(buffers));
  };
  transport::Request* request = receive({100});
  std::string expected;
  SECTION("more bytes than the receive has") {
    forged.carry(101);
    expected = "host-b says that 101 bytes are in a receive of 100 bytes";
  }
  SECTION("two sizes of one message") {
    forged.carry(10, 0);
    forged.carry(20, 1);
    expected = "host-b says on one queue pair that a message has 10 bytes, on another 20";
  }
  SECTION("more bytes than a receive of a group has") {
    forged.carry(1, 0);
    forged.carry(1, 1);
    request = receive({50, 60});
    forged.block->sizes[slot_of(kFirstReceive + 1) + 1] = 61;
    forged.carry(0, 0);
    forged.carry(0, 1);
    expected = "host-b says that 61 bytes are in receive 1 of a group, of 60 bytes";
  }
  SECTION("a message that was not announced") {
    forged.carry(1, 0);
    forged.carry(1, 0);
    expected = "carried a message for which no receive was announced";
  }
  Result<bool> tested = request->test(nullptr);
  for (int i = 0; i < 10 && tested; ++i) {
    forged.world.fabric.run();
    tested = request->test(nullptr);
  }
  REQUIRE_FALSE(tested.ok());
  REQUIRE(tested.error().code == Errc::remote);
  REQUIRE_THAT(tested.error().message, Contains(expected));
}
