// Wrong calls must give an error code and a null result, must not crash, and must not harm comms in use.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

char stale_object = 0;
void* const kStale = &stale_object;
constexpr auto kNegative = static_cast<std::size_t>(-1);  // also as an int, where the table has ints

// `call` gets a pointer to its result. It must fail and set the result to null.
template <class Call>
void expect_refused(const char* what, Call call) {
  void* out = kStale;
  const int code = call(&out);
  CONTRACT_EXPECT(code >= 2 && code <= 6, "{}: the code is {}", what, code);
  CONTRACT_EXPECT(out == nullptr, "{}: the result is not null", what);
}
template <class Call>
void expect_error(const char* what, Call call) {
  const int code = call();
  CONTRACT_EXPECT(code >= 2 && code <= 6, "{}: the code is {}", what, code);
}

}  // namespace

CONTRACT_PART(misuse_of_devices) {
  Net net;
  auto& table = net.table();
  tfabric::tools::PluginProperties properties;
  PluginHandle handle{};
  expect_error("devices(null)", [&] { return table.devices(nullptr); });
  for (const int device : {-1, 1, 128, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    expect_error("getProperties", [&] { return table.properties(device, properties); });
    Net::Listening good = net.listen();
    expect_refused("listen", [&](void** out) { return table.listen(device, handle.data(), out); });
    expect_refused("connect", [&](void** out) { return table.connect(device, good.handle.data(), out); });
    net.close_listen(good.comm);
  }
  void* out = nullptr;
  expect_error("listen without handle", [&] { return table.listen(0, nullptr, &out); });
  expect_error("listen without comm", [&] { return table.listen(0, handle.data(), nullptr); });
  expect_error("connect without handle", [&] { return table.connect(0, nullptr, &out); });
  expect_error("connect without comm", [&] { return table.connect(0, handle.data(), nullptr); });
  expect_error("accept without comm", [&] { return table.accept(nullptr, nullptr); });
}

CONTRACT_PART(misuse_of_handles) {
  Net net;
  auto& table = net.table();
  PluginHandle zero{}, noise;
  noise.fill(std::byte{0xa5});
  expect_refused("a handle of zeros", [&](void** out) { return table.connect(0, zero.data(), out); });
  expect_refused("a handle of another network",
                 [&](void** out) { return table.connect(0, noise.data(), out); });
  // Each byte of a real handle matters, except those that the connector uses itself or that are unused.
  const Net::Listening real = net.listen();
  for (std::size_t i = 0; i < 36; ++i) {
    PluginHandle damaged = real.handle;
    damaged[i] ^= std::byte{0x40};
    expect_refused("a damaged handle", [&](void** out) { return table.connect(0, damaged.data(), out); });
  }
  net.close_listen(real.comm);
}

CONTRACT_PART(misuse_of_objects) {
  Net net;
  auto& table = net.table();
  const Net::Listening listening = net.listen();
  const Loop loop = open_loop(net);
  Buffer buffer(100);
  const PluginReceive receive{buffer.data(), 100, 0, nullptr};
  const std::span<const PluginReceive> receives(&receive, 1);
  // The memory of a comm that has just been freed.
  const Loop closed = open_loop(net);
  net.close_send(closed.send);
  net.close_recv(closed.recv);

  for (void* wrong : {static_cast<void*>(nullptr), loop.recv, listening.comm}) {
    expect_refused("isend",
                   [&](void** out) { return table.isend(wrong, buffer.data(), 100, 0, nullptr, out); });
    expect_error("closeSend", [&] { return table.close_send(wrong); });
  }
  for (void* wrong : {static_cast<void*>(nullptr), loop.send, listening.comm}) {
    expect_refused("irecv", [&](void** out) { return table.irecv(wrong, receives, out); });
    expect_refused("iflush", [&](void** out) { return table.iflush(wrong, receives, out); });
    expect_error("closeRecv", [&] { return table.close_recv(wrong); });
  }
  for (void* wrong : {static_cast<void*>(nullptr), loop.send, loop.recv, closed.recv}) {
    expect_refused("accept", [&](void** out) { return table.accept(wrong, out); });
    expect_error("closeListen", [&] { return table.close_listen(wrong); });
  }
  for (void* wrong : {static_cast<void*>(nullptr), listening.comm, closed.send, closed.recv}) {
    expect_refused("regMr", [&](void** out) {
      return table.register_memory(wrong, buffer.data(), 100, kHostMemory, out);
    });
  }
  expect_error("closeSend again", [&] { return table.close_send(closed.send); });
  expect_error("closeRecv again", [&] { return table.close_recv(closed.recv); });
  send_around(net, loop, 1000, 1);
}

CONTRACT_PART(misuse_of_data) {
  Net net;
  auto& table = net.table();
  const Loop loop = open_loop(net);
  Buffer buffer(100);
  const PluginReceive good{buffer.data(), 100, 0, net.handle_for(loop.recv, buffer.data(), 100)};
  const PluginReceive negative{buffer.data(), kNegative, 0, nullptr};
  const PluginReceive nowhere{nullptr, 100, 0, nullptr};
  void* out = nullptr;
  send_around(net, loop, 10, 1);  // so that no call is refused because the comm is not connected yet

  expect_refused("regMr of nothing",
                 [&](void** o) { return table.register_memory(loop.send, nullptr, 100, kHostMemory, o); });
  expect_refused("regMr, negative", [&](void** o) {
    return table.register_memory(loop.send, buffer.data(), kNegative, kHostMemory, o);
  });
  expect_error("regMr without mhandle",
               [&] { return table.register_memory(loop.send, buffer.data(), 100, kHostMemory, nullptr); });
  expect_refused("isend, negative",
                 [&](void** o) { return table.isend(loop.send, buffer.data(), kNegative, 0, nullptr, o); });
  expect_refused("isend from nowhere",
                 [&](void** o) { return table.isend(loop.send, nullptr, 1, 0, nullptr, o); });
  expect_error("isend without request",
               [&] { return table.isend(loop.send, buffer.data(), 100, 0, nullptr, nullptr); });
  expect_refused("irecv, negative",
                 [&](void** o) { return table.irecv(loop.recv, std::span(&negative, 1), o); });
  expect_refused("irecv to nowhere",
                 [&](void** o) { return table.irecv(loop.recv, std::span(&nowhere, 1), o); });
  expect_error("irecv without request", [&] { return table.irecv(loop.recv, std::span(&good, 1), nullptr); });
  for (const std::size_t n : {0, 9, 64}) {
    if (table_version() == 4) break;  // it cannot be asked for
    const std::vector<PluginReceive> group(n, good);
    expect_refused("irecv of too few or many", [&](void** o) { return table.irecv(loop.recv, group, o); });
  }
  int done = -1;
  expect_error("test of nothing", [&] { return table.test(nullptr, &done, nullptr); });
  CONTRACT_EXPECT(done == 0, "done is assigned");
  CONTRACT_EXPECT(table.irecv(loop.recv, std::span(&good, 1), &out) == kSuccess && out != nullptr, "irecv");
  expect_error("test without done", [&] { return table.test(out, nullptr, nullptr); });
  buffer.fill(1);
  Buffer sent(100);
  sent.fill(2);
  net.wait(net.isend(loop.send, sent.data(), 100, 0));
  net.wait(out);
  buffer.expect(2, 100);
  send_around(net, loop, 1000, 1);
}

TEST_CASE("wrong calls are errors", "[each]") {
  SECTION("devices") { run({{"misuse_of_devices"}}); }
  SECTION("handles") { run({{"misuse_of_handles"}}); }
  SECTION("objects") { run({{"misuse_of_objects"}}); }
  SECTION("data") { run({{"misuse_of_data"}}); }
}

CONTRACT_PART(before_init) {
  // NCCL 2.28 calls a table before init, and calls finalize without an init before.
  Net net{Net::uninitialised};
  CONTRACT_EXPECT(net.table().finalize() == kSuccess, "finalize before init");
  int count = -1;
  static_cast<void>(net.table().devices(&count));
  CONTRACT_EXPECT(count == 0, "there are {} devices before init", count);
  PluginHandle handle{};
  expect_refused("listen", [&](void** out) { return net.table().listen(0, handle.data(), out); });
  net.init();
  const Loop loop = open_loop(net);
  send_around(net, loop, 1000, 1);
}

TEST_CASE("calls before init are errors, and finalize is harmless", "[each]") { run({{"before_init"}}); }
