#include "transport/rails/rail_plan.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/captured_log.h"
#include "tests/temporary_folder.h"
#include "tests/unit/host/fake_host.h"
#include "transport/rails/fatal_fault.h"

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;
using config::RailKind;
using Positions = std::vector<std::size_t>;

namespace {

constexpr const char* kNics[] = {"0000:00:10.0", "0000:00:11.0", "0000:00:12.0"};

// Three NICs, on a host with an IOMMU and 4 GiB of free hugepages.
struct Job {
  Job() {
    for (std::size_t i = 0; i < std::size(kNics); ++i) {
      config.tcp.rails.push_back({.name = "eth" + std::to_string(i),
                                  .kind = RailKind::pci,
                                  .device = kNics[i],
                                  .addresses = {"10.0.0.5/24"}});
      const std::string folder = files.add_function(kNics[i]);
      files.link(folder + "/driver", "/sys/bus/pci/drivers/vfio-pci");
      files.link(folder + "/iommu_group", "/sys/kernel/iommu_groups/1");
    }
    const std::string pages = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
    files.write(pages + "nr_hugepages", "2048\n");
    files.write(pages + "free_hugepages", "2048\n");
    config.lock_folder = *config::LockFolder::parse(locks.path());
  }

  [[nodiscard]] RailPlan plan(const Positions& used) const {
    Result<RailPlan> plan = plan_of(config, used, host);
    INFO((plan ? std::string() : plan.error().message));
    REQUIRE(plan.ok());
    return std::move(*plan);
  }

  test::FakeHost files;
  test::TemporaryFolder locks;
  config::Config config;
  HostView host{.sysfs = files.sysfs(), .interfaces = {}, .addresses = {}, .ports = {}, .root = files.root()};
};

host::LocalAddress of_kernel(const char* netdev, std::array<std::uint8_t, 4> ip) {
  return {.netdev = netdev, .address = config::mapped(ip), .running = true};
}

}  // namespace

TEST_CASE("a plan has this process's rails alone, and allows DPDK their NICs and no others") {
  Job job;
  job.config.tcp.rails[2].arguments = "large_llq_hdr=1";
  const RailPlan plan = job.plan({0, 2});
  REQUIRE(plan.own.tcp.rails.size() == 2);
  CHECK(plan.own.tcp.rails[1].name == "eth2");
  CHECK(plan.eal.pci_allow == std::vector<std::string>{kNics[0], kNics[2] + std::string(",large_llq_hdr=1")});
  CHECK(plan.eal.hugepages);
  CHECK(plan.eal.memory_mib > 0);
  CHECK_FALSE(plan.eal.physical_addresses);
  CHECK_FALSE(plan.eal.shared_memory);
  CHECK(plan.rails == "rail(s) eth0 (pci 0000:00:10.0), eth2 (pci 0000:00:12.0), 2 of 3");
  CHECK_FALSE(plan.memory.empty());
}

TEST_CASE("every process shows all rails, and carries those that it does not have over its own") {
  Job job;
  const RailPlan plan = job.plan({0, 2});
  REQUIRE(plan.devices.size() == 3);
  CHECK(plan.devices[0].rails == Positions{0});
  CHECK(plan.devices[1].rails == Positions{1});
  CHECK(plan.devices[2].rails == Positions{1});
  const RailPlan other = job.plan({1});
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    CHECK(plan.devices[i].properties.name == "eth" + std::to_string(i));
    CHECK(plan.devices[i].properties.rail_id == static_cast<int>(i));
    CHECK(plan.devices[i].properties.guid == other.devices[i].properties.guid);
    CHECK(other.devices[i].rails == Positions{0});
  }
}

TEST_CASE("a device is protected by the process's other rails, and by an interface of the kernel's") {
  Job job;
  job.host.addresses = {of_kernel("lo", {127, 0, 0, 1}), of_kernel("eth0", {10, 9, 0, 1}),
                        of_kernel("mgmt0", {10, 8, 0, 1})};
  RailPlan plan = job.plan({0, 2});
  CHECK(plan.devices[0].reserve == Positions{1});
  CHECK(plan.devices[1].reserve == Positions{0});
  CHECK(plan.devices[2].reserve == Positions{0});
  REQUIRE(plan.lifeboats.size() == 1);
  CHECK(plan.lifeboats.front().device == "mgmt0");  // a rail has the name eth0
  CHECK(config::is_kernel_stack(plan.lifeboats.front()));
  CHECK(plan.own.tcp.rails.size() == 2);
  job.config.rdma.bootstrap_interface = *config::InterfaceList::parse("^mgmt");
  CHECK(job.plan({0, 2}).lifeboats.empty());
  job.config.rdma.bootstrap_interface = {};
  job.config.tcp.reserve = job.config.tcp.lifeboat = false;
  plan = job.plan({0, 2});
  CHECK(plan.devices[0].reserve.empty());
  CHECK(plan.lifeboats.empty());
}

TEST_CASE("a kernel rail beside others is their life-boat and no device, and alone it is one") {
  Job job;
  job.host.addresses = {of_kernel("mgmt0", {10, 8, 0, 1})};
  const config::Rail kernel{.name = "boat", .kind = RailKind::kernel, .device = "ens3"};
  job.config.tcp.rails.insert(job.config.tcp.rails.begin(), kernel);
  RailPlan plan = job.plan({0, 2});
  REQUIRE(plan.devices.size() == 3);
  CHECK(plan.devices[1].properties.name == "eth1");
  CHECK(plan.devices[1].rails == Positions{1});
  CHECK(plan.devices[1].lifeboats == Positions{0});
  CHECK(plan.lifeboats.empty());  // the configuration names one
  job.config.tcp.lifeboat = false;
  CHECK(job.plan({0, 2}).devices.size() == 4);
  job.config.tcp.lifeboat = true;
  job.config.tcp.rails = {kernel, {.name = "shm", .kind = RailKind::memif}};
  plan = job.plan({0, 1});
  REQUIRE(plan.devices.size() == 2);
  CHECK(plan.devices[0].rails == Positions{0});
  CHECK(plan.devices[0].lifeboats.empty());
  CHECK(plan.lifeboats.empty());
}

TEST_CASE("rails are one device by default where each process has all of them") {
  Job job;
  const auto bonded = [&](const config::Launcher& launcher) {
    job.config.launcher = launcher;
    return bonds(job.config);
  };
  const config::Launcher none, alone{.local_rank = 0, .local_size = 1},
      one_of_two{.local_rank = 0, .local_size = 2}, uncounted{.local_rank = 0};
  CHECK(bonded(alone));
  CHECK_FALSE(bonded(one_of_two));
  CHECK_FALSE(bonded(uncounted));
  CHECK_FALSE(bonded(none));  // it takes one
  job.config.tcp.rails_from_environment = true;
  CHECK(bonded(none));
  CHECK_FALSE(bonded(one_of_two));
  job.config.tcp.rails_per_process.rule = config::RailsPerProcess::Rule::all;
  CHECK(bonded(one_of_two));
  CHECK(job.plan({0, 1, 2}).devices.size() == 1);
  job.config.tcp.bond = config::Switch::off;
  CHECK_FALSE(bonded(one_of_two));
  CHECK(job.plan({0, 1, 2}).devices.size() == 3);
  job.config.tcp.bond = config::Switch::automatic;
  job.config.tcp.rails.push_back({.name = "shm", .kind = RailKind::memif});
  CHECK_FALSE(bonded(one_of_two));
}

TEST_CASE("interfaces of the kernel's are one device by default, whatever processes there are") {
  Job job;
  job.config.tcp.rails.clear();
  for (const char* name : {"a", "b"}) {
    job.config.tcp.rails.push_back({.name = name, .kind = RailKind::kernel, .device = name});
  }
  job.config.launcher = {.local_rank = 3, .local_size = 8};
  CHECK(bonds(job.config));
  CHECK(job.plan({0, 1}).devices.size() == 1);
}

TEST_CASE("a process starts without a rail that does not work, if each device has another one") {
  using Kind = transport::RailFault::Kind;
  Job job;
  job.config.tcp.reserve = false;
  const auto fatal = [&](const RailPlan& plan, Kind kind, std::initializer_list<const char*> rails) {
    std::vector<transport::RailFault> faults;
    for (const char* rail : rails) {
      faults.push_back({.kind = kind, .rail = rail, .what = "no link", .fix = "a cable"});
    }
    return fatal_fault(plan, faults);
  };
  CHECK_FALSE(fatal(job.plan({0, 1, 2}), Kind::no_link, {}));
  const auto alone = fatal(job.plan({0, 1, 2}), Kind::no_link, {"eth1"});
  REQUIRE(alone);
  CHECK(alone->message == "rail eth1: no link: a cable");
  job.config.tcp.reserve = true;
  CHECK_FALSE(fatal(job.plan({0, 1, 2}), Kind::no_link, {"eth1"}));
  CHECK_FALSE(fatal(job.plan({0, 1, 2}), Kind::missing, {"eth1"}));
  CHECK(fatal(job.plan({0, 1, 2}), Kind::missing, {"eth0", "eth1", "eth2"}));
  CHECK(fatal(job.plan({0, 1, 2}), Kind::address_taken, {"eth1"}));
  CHECK(fatal(job.plan({0, 1, 2}), Kind::gateway_silent, {"eth0", "eth1", "eth2"}));
  job.host.addresses = {of_kernel("mgmt0", {10, 8, 0, 1})};
  CHECK_FALSE(fatal(job.plan({0, 1, 2}), Kind::gateway_silent, {"eth0", "eth1", "eth2"}));
  job.config.required = true;
  CHECK(fatal(job.plan({0, 1, 2}), Kind::no_link, {"eth1"}));
  job.config.tcp.bond = config::Switch::on;
  CHECK_FALSE(fatal(job.plan({0, 1, 2}), Kind::no_link, {"eth1"}));
  CHECK(fatal(job.plan({0, 1, 2}), Kind::no_link, {"eth0", "eth1", "eth2"}));
}

TEST_CASE("bonded rails are one device, with the sum of their speeds") {
  Job job;
  job.config.tcp.bond = config::Switch::on;
  job.config.tcp.rails[0].speed_mbps = 25000;
  const RailPlan plan = job.plan({0, 1, 2});
  REQUIRE(plan.devices.size() == 1);
  CHECK(plan.devices[0].properties.name == "eth0+eth1+eth2");
  CHECK(shown_properties(plan.devices[0], /*driver_speed_mbps=*/0).speed_mbps == 25000 + 2 * 10000);
  // Rails of which no driver is open here are as fast as those whose driver is.
  CHECK(shown_properties(plan.devices[0], 200000).speed_mbps == 25000 + 2 * 200000);
  CHECK(plan.devices[0].rails == Positions{0, 1, 2});
}

TEST_CASE("without NICs a plan takes ordinary memory, which a vhost-user peer maps") {
  Job job;
  job.config.tcp.rails = {{.name = "shm", .kind = RailKind::memif}};
  RailPlan plan = job.plan({0});
  CHECK_FALSE(plan.eal.hugepages);
  CHECK_FALSE(plan.eal.shared_memory);
  CHECK(plan.eal.pci_allow.empty());
  CHECK(shown_properties(plan.devices[0], 0).speed_mbps == 50000);
  CHECK(plan.rails == "rail(s) shm (memif)");
  job.config.tcp.rails = {{.name = "guest", .kind = RailKind::virtio_user, .device = "/run/guest.sock"}};
  plan = job.plan({0});
  CHECK(plan.eal.shared_memory);
}

TEST_CASE("a process with more rails than DPDK can open devices is refused; automatic memif rails are none") {
  Job job;
  job.config.tcp.rails.assign(33, {.name = "tap", .kind = RailKind::tap, .device = "tap0"});
  job.config.tcp.rails[0] = {.name = "shm", .kind = RailKind::memif};
  Positions all(33);
  std::iota(all.begin(), all.end(), std::size_t{0});
  CHECK(job.plan(all).own.tcp.rails.size() == 33);
  job.config.tcp.rails[0] = job.config.tcp.rails[1];
  const Result<RailPlan> refused = plan_of(job.config, all, job.host);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Errc::unusable);
  CHECK_THAT(refused.error().message,
             Contains("33 rails") && Contains("32 devices") && Contains("tcp.rails_per_process"));
}

TEST_CASE("a plan without rails says where they are configured") {
  const Result<RailPlan> plan = plan_rails({}, Job().host);
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == Errc::unusable);
  CHECK_THAT(plan.error().message, Contains("no TCP rail is configured") && Contains("TFABRIC_TCP_RAILS"));
}

TEST_CASE("the rails of a plan are checked and leased: those of this process's share") {
  Job job;
  job.config.launcher = {.local_rank = 1, .local_size = 3, .variable = "LOCAL_RANK", .job = ""};
  const Result<RailPlan> plan = plan_rails(job.config, job.host);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan.ok());
  REQUIRE(plan->own.tcp.rails.size() == 1);
  CHECK(plan->own.tcp.rails[0].name == "eth1");
  std::filesystem::remove(job.files.root() + "/sys/bus/pci/devices/" + kNics[2] + "/driver");
  const Result<RailPlan> refused = plan_rails(job.config, job.host);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Contains("rail eth2: no driver has 0000:00:12.0"));
}

TEST_CASE("beside RDMA's ports a process has the rails over networks, which stand in for these") {
  Job job;
  job.host.addresses = {of_kernel("eth9", {10, 1, 0, 5})};
  job.config.tcp.rails_per_process = {.rule = config::RailsPerProcess::Rule::all, .count = 0};
  job.config.tcp.rails.push_back({.name = "local", .kind = RailKind::memif});
  job.config.tcp.rails.push_back({.name = "boat", .kind = RailKind::kernel, .device = "eth9"});
  const auto plan = plan_beside(job.config, job.host);
  REQUIRE(plan.ok());
  CHECK(plan->dpdk);
  REQUIRE(plan->own.tcp.rails.size() == 3);
  CHECK(plan->own.tcp.rails.back().name == "eth2");
  REQUIRE(plan->lifeboats.size() == 1);
  CHECK(plan->lifeboats[0].device == "eth9");

  job.config.tcp.reserve = false;
  const auto without = plan_beside(job.config, job.host);
  REQUIRE(without.ok());
  CHECK_FALSE(without->dpdk);
  CHECK(without->own.tcp.rails.empty());
  CHECK(without->lifeboats.size() == 1);
}

TEST_CASE("beside RDMA's ports a process that cannot have its rails goes without, and says why") {
  Job job;
  job.host.addresses = {of_kernel("eth9", {10, 1, 0, 5})};
  job.config.launcher.local_rank = 3;
  job.config.launcher.local_size = 4;
  job.config.launcher.variable = "LOCAL_RANK";
  const tfabric::test::CapturedLog log;
  const auto plan = plan_beside(job.config, job.host);
  REQUIRE(plan.ok());
  CHECK(plan->own.tcp.rails.empty());
  CHECK(plan->lifeboats.size() == 1);
  CHECK(log.count("no TCP rail stands in for RDMA: 3 of tcp.rails can be used by one process each") == 1);
}

TEST_CASE("a plan keeps the place of a NIC that is missing, if something stands in for it") {
  Job job;
  job.config.tcp.bond = config::Switch::on;
  job.config.tcp.rails_per_process = {.rule = config::RailsPerProcess::Rule::all};
  std::filesystem::remove(job.files.root() + "/sys/bus/pci/devices/" + kNics[1] + "/driver");
  const Result<RailPlan> plan = plan_rails(job.config, job.host);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan.ok());
  CHECK(plan->own.tcp.rails.size() == 3);
  CHECK(plan->devices.front().rails == Positions{0, 1, 2});
  REQUIRE(plan->missing.size() == 1);
  CHECK(plan->missing[0].rail == "eth1");
}
