// The calls from init to connected comms.
#include <catch2/catch.hpp>
#include <set>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

CONTRACT_PART(devices) {
  Net net;
  CONTRACT_EXPECT(std::string(net.table().name()) == "tfabric", "{}", net.table().name());
  int count = -1;
  CONTRACT_EXPECT(net.table().devices(&count) == kSuccess, "devices");
  CONTRACT_EXPECT(count == 1, "one rail is one device, not {}", count);
  tfabric::tools::PluginProperties first, again;
  CONTRACT_EXPECT(net.table().properties(0, first) == kSuccess, "getProperties");
  CONTRACT_EXPECT(!first.name.empty() && first.name.size() <= 255, "name {}", first.name);
  CONTRACT_EXPECT(first.pci_path.empty(), "memif has no PCI function: {}", first.pci_path);
  CONTRACT_EXPECT(first.ptr_support == 1, "host memory alone, not {}", first.ptr_support);
  CONTRACT_EXPECT(first.speed_mbps > 0 && first.max_comms >= 1024 && first.latency_us >= 0,
                  "speed, comms, latency");
  CONTRACT_EXPECT(first.max_recvs == (table_version() == 4 ? 1 : 8), "maxRecvs as configured, not {}",
                  first.max_recvs);
  CONTRACT_EXPECT(first.max_p2p_bytes >= 1u << 30 && first.max_coll_bytes >= 1u << 20, "sizes");
  CONTRACT_EXPECT(net.table().properties(0, again) == kSuccess && again.name == first.name &&
                      again.guid == first.guid && again.speed_mbps == first.speed_mbps,
                  "properties do not change");
}

TEST_CASE("there is a device for the rail, and its properties are sane and constant", "[each]") {
  run({{"devices"}});
}

CONTRACT_PART(late_acceptor) {
  Net net;
  const Net::Listening listening = net.listen();
  channel.send(listening.handle);
  channel.meet(1);  // the peer is connected, and accept has never been called
  void* comm = net.accept(listening.comm);
  net.close_listen(listening.comm);
  Buffer buffer(1000);
  net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 3, nullptr}));
  buffer.expect(1, 1000);
  net.close_recv(comm);
}
CONTRACT_PART(early_connector) {
  Net net;
  struct {
    PluginHandle handle;
    PluginHandle guard{};
  } memory;
  memory.handle = channel.receive<PluginHandle>();
  void* comm = net.connect(memory.handle);
  CONTRACT_EXPECT(memory.guard == PluginHandle{}, "the handle has 128 bytes, no more");
  channel.meet(1);
  Buffer buffer(1000);
  buffer.fill(1);
  net.wait(net.isend(comm, buffer.data(), buffer.size(), 3));
  net.close_send(comm);
}

TEST_CASE("connect completes before the peer calls accept, and the listener is closed right after",
          "[each]") {
  run({{"late_acceptor"}, {"early_connector"}});
}

constexpr int kListeners = 6;

CONTRACT_PART(many_listeners) {
  Net net;
  std::vector<Net::Listening> listeners;
  for (int i = 0; i < kListeners; ++i) {
    listeners.push_back(net.listen());
    channel.send(listeners.back().handle);
  }
  std::set<PluginHandle> different;
  for (const auto& listening : listeners) different.insert(listening.handle);
  CONTRACT_EXPECT(different.size() == kListeners, "each listener has a handle of its own");
  // The first gets no connection; the others accept in the reverse order.
  for (int i = kListeners - 1; i > 0; --i) {
    const auto index = static_cast<std::size_t>(i);
    void* comm = net.accept(listeners[index].comm);
    Buffer buffer(64);
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
    buffer.expect(index, 64);
    net.close_recv(comm);
  }
  for (const auto& listening : listeners) net.close_listen(listening.comm);
  channel.meet(1);
}
CONTRACT_PART(connector_to_many) {
  Net net;
  std::vector<PluginHandle> handles;
  for (int i = 0; i < kListeners; ++i) handles.push_back(channel.receive<PluginHandle>());
  // The attempts take turns, as those of NCCL's service thread do.
  std::vector<void*> comms(kListeners, nullptr);
  const Deadline deadline;
  for (int open = 0; open < kListeners - 1;) {
    for (std::size_t i = 1; i < kListeners; ++i) {
      if (comms[i] != nullptr) continue;
      comms[i] = net.try_connect(handles[i]);
      open += comms[i] != nullptr ? 1 : 0;
    }
    deadline.check("connecting to several listeners");
  }
  std::vector<Buffer> buffers;
  std::vector<void*> requests;
  for (std::size_t i = 1; i < kListeners; ++i) buffers.emplace_back(64).fill(i);
  for (std::size_t i = kListeners - 1; i > 0; --i)
    net.wait(net.isend(comms[i], buffers[i - 1].data(), 64, 0));
  for (std::size_t i = 1; i < kListeners; ++i) net.close_send(comms[i]);
  channel.meet(1);
}

TEST_CASE("several listeners are connected to in turn and accepted in any order; one is left alone",
          "[each]") {
  run({{"many_listeners"}, {"connector_to_many"}});
}

CONTRACT_PART(loop) {
  Net net;
  const Loop loop = open_loop(net);
  std::uint64_t seed = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{9} << 20}) {
    send_around(net, loop, size, ++seed);
  }
  // NCCL's GPUDirect self-test closes in this order.
  net.close_recv(loop.recv);
  net.close_send(loop.send);
}

TEST_CASE("a process connects to itself, one thread driving both ends", "[each]") { run({{"loop"}}); }
