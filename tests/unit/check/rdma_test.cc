// What `tfabric check` says of RDMA.
#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

rdma::Port used_port() {
  rdma::Port port{.number = 1,
                  .link_layer = rdma::LinkLayer::ethernet,
                  .state = IBV_PORT_ACTIVE,
                  .speed_mbps = 100000,
                  .mtu = 4096};
  port.gid = rdma::GidChoice{3, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 5}, "RoCE v2, IPv4"};
  return port;
}

rdma::Survey one_hca() {
  rdma::Survey survey;
  rdma::Hca& hca = survey.found.hcas.emplace_back();
  hca.name = "mlx5_0";
  hca.gpu_memory = {.peer_module = true, .reason = "by nv_peer_mem"};
  hca.ports.push_back(used_port());
  return survey;
}

rdma::Survey unusable() {
  rdma::Survey survey;
  survey.found.usable = Error{Errc::unusable, "this host shows no RDMA device"};
  return survey;
}

}  // namespace

TEST_CASE("RDMA is used where no TCP rails are configured, with notes about ports and GPU memory") {
  const BrokenHost broken;
  const Report report = broken.examine(one_hca);
  CAPTURE(to_text(report));
  REQUIRE(exit_code_of(report) == kAllRight);
  REQUIRE(report.verdict.network == Network::rdma);
  REQUIRE(report.verdict.text == "NCCL uses tfabric here, RDMA over mlx5_0:1");
  REQUIRE(text_of(report, Id::rdma_port_used) ==
          "note mlx5_0:1: is used: RoCE, 100 Gbit/s, by GID 3 ::ffff:10.0.0.5 (RoCE v2, IPv4) | ");
  REQUIRE(
      text_of(report, Id::rdma_stands_in) ==
      "note mlx5_0:1: if it is lost, the kernel's connection carries, which is slow; memory of GPUs waits "
      "then | ");
  REQUIRE(text_of(report, Id::rdma_gpu_memory) == "note mlx5_0: reaches GPU memory: by nv_peer_mem | ");
  REQUIRE_THAT(text_of(report, Id::tcp_not_configured), StartsWith("note "));
}

TEST_CASE("what stands in for the ports of a device is a note") {
  const BrokenHost broken;
  const Report report = broken.examine([] {
    rdma::Survey survey = one_hca();
    for (const char* name : {"mlx5_1", "mlx5_2"}) {
      rdma::Hca& hca = survey.found.hcas.emplace_back();
      hca.name = name;
      hca.gpu_memory = survey.found.hcas.front().gpu_memory;
      hca.ports = {used_port(), used_port()};
      hca.ports.back().number = 2;
    }
    return survey;
  });
  CHECK_THAT(
      to_text(report),
      Contains("mlx5_0:1: if it is lost, mlx5_1:1 and mlx5_2:1 stand in, and without these the kernel's") &&
          Contains("mlx5_2:1+mlx5_2:2: goes on while one of its ports works; if all are lost, mlx5_0:1 and "
                   "mlx5_1:1 stand in"));
}

TEST_CASE("of TCP rails that stand in for ports, faults are warnings") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "af_packet:tf-not-there,name=eth1,addresses=10.0.0.1/24"},
                             {"TFABRIC_TRANSPORT", "rdma"}};
  const Report report = broken.examine(one_hca);
  CAPTURE(to_text(report));
  CHECK(exit_code_of(report) == kWarnings);
  CHECK(report.verdict.network == Network::rdma);
  CHECK_THAT(report.verdict.text,
             StartsWith("NCCL uses tfabric here, RDMA over mlx5_0:1; in reserve TCP over "
                        "DPDK by the rail(s) eth1"));
  CHECK_THAT(text_of(report, Id::rdma_stands_in),
             Contains("if it is lost, TCP over eth1 stands in, and without that the kernel's connection"));
  CHECK_THAT(text_of(report, Id::interface_missing), StartsWith("warning rail eth1: "));
  CHECK_FALSE(has(report, Id::tcp_rails_not_used));
}

TEST_CASE("RDMA that could be used instead of TCP is a note") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "memif"}};
  const Report report = broken.examine(one_hca);
  REQUIRE(text_of(report, Id::rdma_not_used) ==
          "note RDMA: could be used over mlx5_0:1, but the configuration takes TCP | transport = \"rdma\"");
  REQUIRE(report.verdict.network == Network::tcp);
}

TEST_CASE("without the library or a device there is no RDMA") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TRANSPORT", "rdma"}};
  REQUIRE_THAT(text_of(broken.examine(), Id::rdma_no_library),
               StartsWith("error RDMA: ") && Contains("apt-get install libibverbs1 ibverbs-providers"));
  const Report report = broken.examine(unusable);
  REQUIRE_THAT(text_of(report, Id::rdma_not_usable), Contains("this host shows no RDMA device"));
  REQUIRE_FALSE(has(report, Id::tcp_not_configured));
  REQUIRE(report.verdict.network == Network::nccl);
}

TEST_CASE("where there are HCAs, their error is the reason why tfabric is not usable") {
  const BrokenHost broken;
  const Report report = broken.examine([] {
    rdma::Survey survey = one_hca();
    survey.found.usable = Error{Errc::unusable, "mlx5_0 port 1 is in state DOWN"};
    return survey;
  });
  REQUIRE(has(report, Id::tcp_not_configured));
  REQUIRE_THAT(report.verdict.text, Contains("because of RDMA: mlx5_0 port 1 is in state DOWN"));
}

TEST_CASE("RDMA without addresses at which ranks can meet is not usable") {
  const BrokenHost broken;
  const Report report = broken.examine([] {
    rdma::Survey survey = one_hca();
    survey.bootstrap = Error{Errc::invalid_usage, "no interface is selected"};
    return survey;
  });
  REQUIRE_THAT(text_of(report, Id::rdma_not_usable), Contains("no interface is selected"));
}

TEST_CASE("a finding about RDMA that is switched off names the setting") {
  BrokenHost broken;
  broken.host.environment = {{"NCCL_IB_DISABLE", "1"}};
  REQUIRE_THAT(text_of(broken.examine(unusable), Id::rdma_disabled),
               StartsWith("error RDMA: is switched off by environment NCCL_IB_DISABLE"));
}

TEST_CASE("a port that is left out is a note, and a warning if the configuration names it") {
  BrokenHost broken;
  const auto look = [] {
    rdma::Survey survey = one_hca();
    survey.found.hcas[0].ports.push_back({.number = 2, .excluded = "is in state DOWN"});
    return survey;
  };
  REQUIRE(text_of(broken.examine(look), Id::rdma_port_left_out) ==
          "note mlx5_0:2: is left out: is in state DOWN | ");
  broken.host.environment = {{"NCCL_IB_HCA", "mlx5_0"}};
  const Report report = broken.examine(look);
  REQUIRE_THAT(text_of(report, Id::rdma_port_left_out), StartsWith("warning ") && Contains("NCCL_IB_HCA"));
  REQUIRE(exit_code_of(report) == kWarnings);
}

TEST_CASE("an HCA that cannot be opened is a warning, and one that is excluded a note") {
  BrokenHost broken;
  const auto look = [] {
    rdma::Survey survey = one_hca();
    rdma::Hca& other = survey.found.hcas.emplace_back();
    other.name = "mlx5_9";
    other.excluded = "cannot be opened: Permission denied";
    return survey;
  };
  REQUIRE_THAT(text_of(broken.examine(look), Id::rdma_port_left_out),
               StartsWith("warning mlx5_9: ") && Contains("rdma.exclude_hca = \"=mlx5_9\""));
  broken.host.environment = {{"TFABRIC_RDMA_EXCLUDE_HCA", "=mlx5_9"}};
  REQUIRE_THAT(text_of(broken.examine(look), Id::rdma_port_left_out), StartsWith("note mlx5_9: "));
}

TEST_CASE("RDMA with a low limit of locked memory is a warning") {
  BrokenHost broken;
  broken.set_capabilities("0");
  broken.host.memlock_bytes = 8u << 20;
  REQUIRE_THAT(text_of(broken.examine(one_hca), Id::memlock_too_low),
               StartsWith("warning locked memory: a process may lock 8192 KiB"));
}
