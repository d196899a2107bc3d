// The whole transport over a made-up provider: discovery, the meeting of two ranks, their comms.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/captured_log.h"
#include "tests/missing_interface.h"
#include "tests/temporary_folder.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/rdma/good.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;

TEST_CASE("each port that is used is a device, as NCCL is to see it") {
  TwoHosts hosts;
  hosts.machine.fake.hcas[0].sys_image_guid = 0x1234;
  hosts.sender_wishes.hca = *config::HcaList::parse("=mlx5_0:1:2:1");
  hosts.open();
  REQUIRE(hosts.sending->name() == "rdma");
  REQUIRE(hosts.sending->devices().size() == 1);
  const transport::DeviceProperties& properties = hosts.sender().properties();
  REQUIRE(properties.name == "mlx5_0:1");
  REQUIRE(properties.guid == 0x1234);
  REQUIRE(properties.speed_mbps == 100000);
  REQUIRE(properties.port == 1);
  REQUIRE(properties.max_recvs == 8);
  REQUIRE(properties.memory_kinds == 1);
  REQUIRE(properties.rail_id == 2);
  REQUIRE(properties.plane_id == 1);
}

TEST_CASE("a port with a Data Direct function is two devices, if that is wanted") {
  const auto wish = GENERATE(config::DataDirect::off, config::DataDirect::both, config::DataDirect::only);
  TwoHosts hosts;
  hosts.machine.fake.dmabuf_error = EBADF;
  hosts.machine.fake.data_direct = "/devices/pci0000:00/0000:05:00.2";
  hosts.sender_wishes.data_direct = wish;
  Verbs verbs = hosts.verbs();
  verbs.reg_dmabuf_mr = hosts.machine.fake.verbs().reg_dmabuf_mr;
  const auto opened =
      good(device::open_rdma(verbs, hosts.machine.host(), hosts.config_of(hosts.sender_wishes)));
  const auto devices = opened->devices();
  REQUIRE(devices.size() == (wish == config::DataDirect::both ? 2 : 1));
  const transport::DeviceProperties& last = devices.back()->properties();
  REQUIRE(last.force_flush == (wish != config::DataDirect::off));
  REQUIRE(last.name == (wish == config::DataDirect::off ? "mlx5_0:1" : "mlx5_0_dma:1"));
  REQUIRE((last.pci_path == "/sys/devices/pci0000:00/0000:05:00.2") == (wish != config::DataDirect::off));
  REQUIRE(last.guid == devices.front()->properties().guid);
}

TEST_CASE("if no port can be used, the transport says why") {
  TwoHosts hosts;
  hosts.sender_wishes.hca = *config::HcaList::parse("=mlx5_9");
  const auto opened = hosts.open_one(hosts.sender_wishes);
  REQUIRE(opened.error().code == Errc::unusable);
  REQUIRE_THAT(opened.error().message, Contains("matches no RDMA port") && Contains("mlx5_0:1, mlx5_1:1"));
}

TEST_CASE("two ranks connect, and messages arrive") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100000);
  exchange(hosts, comms, 0);
}

TEST_CASE("a comm has as many queue pairs as the sender's configuration says") {
  const auto [mine, theirs] = GENERATE(std::pair(4u, 2u), std::pair(1u, 8u));
  TwoHosts hosts;
  hosts.sender_wishes.qps = mine;
  hosts.receiver_wishes.qps = theirs;
  hosts.sender_wishes.split = true;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  REQUIRE(eventually([&, pairs = mine] {
    exchange(hosts, comms, 100'000);
    return hosts.network.connected().size() == 2 * pairs;
  }));
}

TEST_CASE("ports as one device carry together, and go on without one of them") {
  TwoHosts hosts;
  hosts.add_second_hcas();
  hosts.sender_wishes.bond = hosts.receiver_wishes.bond = config::Switch::on;
  hosts.open();
  REQUIRE(hosts.sending->devices().size() == 1);
  REQUIRE(hosts.sender().properties().name == "mlx5_0:1+mlx5_2:1");
  REQUIRE(hosts.sender().properties().speed_mbps == 200000);
  TwoHosts::Comms comms = hosts.connect();
  REQUIRE(eventually([&] {
    exchange(hosts, comms, 4'000'000);
    return hosts.network.connected().size() == 4;
  }));
  hosts.network.kill(hosts.machine.fake.context_of("mlx5_2"));
  exchange(hosts, comms, 4'000'000);
}

TEST_CASE("a device goes on over a port of another one while its own is lost") {
  TwoHosts hosts;
  hosts.add_second_hcas();
  hosts.open();
  REQUIRE(hosts.sending->devices().size() == 2);
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 4'000'000);
  REQUIRE(hosts.network.connected().size() == 2);
  hosts.network.kill(hosts.machine.fake.context_of("mlx5_0"));
  REQUIRE(eventually([&] { return goes_over_pairs(hosts, comms, 4'000'000); }));
}

TEST_CASE("a TCP rail that cannot be had keeps no port from carrying, and has its place") {
  nic::need_eal();
  const tfabric::test::CapturedLog log;
  const tfabric::test::TemporaryFolder locks;
  TwoHosts hosts;
  hosts.lock_folder = *config::LockFolder::parse(locks.path());
  const std::string device = tfabric::test::missing_interface();
  hosts.tcp.rails = {
      {.name = "eth1", .kind = config::RailKind::af_packet, .device = device, .addresses = {"10.99.0.1/24"}}};
  hosts.open();
  CHECK(log.count("rail eth1: cannot open") > 0);
  CHECK(log.count("Starting without it; processes that start once it works use it") == 2);
  CHECK_THAT(hosts.sending->summary(),
             Contains("in reserve TCP over DPDK, rail(s) eth1 (af_packet " + device + ")"));
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100'000);
  hosts.network.kill(hosts.machine.fake.context_of("mlx5_0"));
  exchange(hosts, comms, 100'000);
}

TEST_CASE("what a receiver that can access GPU memory has received is flushed") {
  const bool disabled = GENERATE(false, true);
  TwoHosts hosts;
  hosts.sender_wishes.gdr = hosts.receiver_wishes.gdr = config::Switch::on;
  hosts.receiver_wishes.gdr_flush_disable = disabled;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  std::vector<std::byte> memory(100);
  auto* to = good(comms.receive->register_memory(memory.data(), memory.size(), transport::MemoryKind::cuda));
  auto* from = good(comms.send->register_memory(memory.data(), memory.size(), transport::MemoryKind::cuda));
  const std::array<transport::ReceiveBuffer, 1> buffers{
      {{.data = memory.data(), .size = memory.size(), .tag = 0, .region = to}}};
  transport::Request* received = good(comms.receive->irecv(buffers));
  transport::Request* sent = nullptr;
  REQUIRE(eventually([&] {
    sent = good(comms.send->isend(memory.data(), memory.size(), 0, from));
    return sent != nullptr;
  }));
  int size = 0;
  REQUIRE(eventually([&] { return good(received->test(&size)); }));
  REQUIRE(eventually([&] { return good(sent->test(nullptr)); }));
  transport::Request* flushed = good(comms.receive->iflush(buffers));
  REQUIRE((flushed == nullptr) == disabled);
  REQUIRE((disabled || eventually([&] { return good(flushed->test(nullptr)); })));
  REQUIRE(hosts.network.reads == (disabled ? 0 : 1));
  REQUIRE(comms.send->deregister_memory(from).ok());
  REQUIRE(comms.receive->deregister_memory(to).ok());
}

TEST_CASE("packets of both ends have the traffic class of the sender's communicator, if none is configured") {
  const bool configured = GENERATE(false, true);
  TwoHosts hosts;
  hosts.sender_wishes.traffic_class = configured ? 106 : -1;
  hosts.receiver_wishes.traffic_class = 7;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect({.traffic_class = 5});
  exchange(hosts, comms, 100);
  const auto pairs = hosts.network.connected();
  REQUIRE(std::count_if(pairs.begin(), pairs.end(), [&](const ibv_qp_attr& pair) {
            return pair.ah_attr.grh.traffic_class == (configured ? 106 : 5);
          }) == 2);
}

TEST_CASE("announcements have a traffic class of their own if the receiver has one for them") {
  TwoHosts hosts;
  hosts.sender_wishes.traffic_class = 106;
  hosts.sender_wishes.control_traffic_class = 9;  // of what it receives on other comms
  hosts.receiver_wishes.control_traffic_class = 22;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  std::vector<int> classes;
  for (const ibv_qp_attr& pair : hosts.network.connected()) {
    classes.push_back(pair.ah_attr.grh.traffic_class);
  }
  std::sort(classes.begin(), classes.end());
  REQUIRE(classes == std::vector{22, 106});
}

TEST_CASE("a rank that ends before it accepts is reported") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Half half = hosts.connect_only();
  half.listener.reset();
  transport::Request* send = nullptr;
  REQUIRE_THAT(failure_of([&] { return send_nothing(*half.send, send); }).message,
               Contains("the listener was closed before accept()"));
}

TEST_CASE("a rank that ends is noticed by the other, which waits for nothing but an announcement") {
  TwoHosts hosts;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 1000);
  SECTION("the receiver") {
    comms.receive.reset();
    transport::Request* send = nullptr;
    REQUIRE_THAT(failure_of([&] { return send_nothing(*comms.send, send); }).message,
                 Contains("the peer closed its communicator"));
  }
  SECTION("the sender") {
    comms.send.reset();
    transport::Request* receive = nullptr;
    REQUIRE_THAT(failure_of([&] { return receive_nothing(*comms.receive, receive); }).message,
                 Contains("the peer closed its communicator"));
  }
}

TEST_CASE("ranks whose ports cannot talk use the kernel's connection, and say why") {
  const tfabric::test::CapturedLog log;
  TwoHosts hosts;
  hosts.receiver_wishes.roce_version = 1;
  hosts.sender_wishes.roce_version = 2;
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100'000);
  REQUIRE(hosts.network.connected().empty());
  REQUIRE(log.count("no RDMA rail in common") == 1);
}

TEST_CASE("memory of a GPU goes no other way than over queue pairs, and a connect without one says so") {
  TwoHosts hosts;
  hosts.sender_wishes.gdr = config::Switch::on;
  hosts.receiver_wishes.roce_version = 1;
  hosts.sender_wishes.roce_version = 2;
  hosts.open();
  std::array<std::byte, transport::kHandleBytes> handle{};
  const auto listener = good(hosts.receiver().listen(handle, {}));
  const Error why = failure_of([&] { return hosts.sender().connect(handle, {}); });
  REQUIRE_THAT(why.message, Contains("no RDMA rail in common") && Contains("memory of a GPU"));
}

TEST_CASE("a receiver that can make no queue pairs is reached over the kernel's connection") {
  TwoHosts hosts;
  hosts.open();
  hosts.network.kill(hosts.machine.fake.context_of("mlx5_1"));
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 1000);
}

TEST_CASE("a handle of no listener, and one whose listener is closed, are errors") {
  TwoHosts hosts;
  hosts.open();
  std::array<std::byte, transport::kHandleBytes> handle{};
  REQUIRE_FALSE(hosts.sender().connect(handle, {}).ok());
  static_cast<void>(hosts.receiver().listen(handle, {}).value());
  REQUIRE_THAT(failure_of([&] { return hosts.sender().connect(handle, {}); }).message,
               Contains("cannot connect to 127.0.0.1"));
}
