// NCCL's own variables, which users of RDMA may have set already.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

TEST_CASE("NCCL's variables set the keys of the same meaning") {
  const auto config = load_environment({{"NCCL_IB_DISABLE", "1"},
                                        {"NCCL_IB_HCA", "^=mlx5_2:1"},
                                        {"NCCL_IB_GID_INDEX", "3"},
                                        {"NCCL_IB_ROCE_VERSION_NUM", "1"},
                                        {"NCCL_IB_ADDR_FAMILY", "AF_INET6"},
                                        {"NCCL_IB_ADDR_RANGE", "fd00::/8"}});
  REQUIRE(config.ok());
  REQUIRE(config->rdma.disable);
  REQUIRE_FALSE(config->rdma.hca.selects("mlx5_2", 1));
  REQUIRE(config->rdma.gid_index == 3);
  REQUIRE(config->rdma.roce_version == 1);
  REQUIRE(config->rdma.address_family == AddressFamily::ipv6);
  REQUIRE(config->rdma.address_range.text() == "fd00::/8");
  REQUIRE(entry_of(*config, "rdma.hca").origin == "environment NCCL_IB_HCA");
}

TEST_CASE("NCCL's variable takes precedence over the file, and the key's own over NCCL's") {
  const std::string file = "[rdma]\nhca = \"mlx5_0\"\n";
  const auto nccl = load_text(file, {{"NCCL_IB_HCA", "mlx5_1"}});
  REQUIRE(entry_of(*nccl, "rdma.hca").value == "mlx5_1");
  const auto ours = load_text(file, {{"NCCL_IB_HCA", "mlx5_1"}, {"TFABRIC_RDMA_HCA", "mlx5_2"}});
  REQUIRE(entry_of(*ours, "rdma.hca").value == "mlx5_2");
  REQUIRE(entry_of(*ours, "rdma.hca").origin == "environment TFABRIC_RDMA_HCA");
}

TEST_CASE("an invalid value of NCCL's variable is ignored, and the key's origin says so") {
  const auto config = load_environment({{"NCCL_IB_GID_INDEX", "three"}});
  REQUIRE(config.ok());
  REQUIRE(config->rdma.gid_index == -1);
  REQUIRE_THAT(entry_of(*config, "rdma.gid_index").origin,
               Contains("default (environment NCCL_IB_GID_INDEX is \"three\", expected the index of a GID") &&
                   Contains("ignored"));
}

TEST_CASE("variables of NCCL that are empty, or that no key has, change nothing") {
  const auto config = load_environment({{"NCCL_IB_HCA", ""}, {"NCCL_IB_ECE_ENABLE", "1"}});
  REQUIRE(config.ok());
  REQUIRE(entry_of(*config, "rdma.hca").origin == "default");
}

TEST_CASE("a variable of NCCL's InfiniBand network that no key has is named, with what happens instead") {
  const auto config = load_environment({{"NCCL_IB_MERGE_NICS", "1"},
                                        {"NCCL_IB_RESILIENCY_PORT_FAILOVER", "1"},
                                        {"NCCL_IB_TOMORROW", "x"},
                                        {"NCCL_IB_OOO_RQ", ""},
                                        {"NCCL_IB_FIFO_TC", "22"},
                                        {"NCCL_IB_RETURN_ASYNC_EVENTS", "0"},
                                        {"NCCL_IB_QPS_PER_CONNECTION", "128"}});
  REQUIRE(config.ok());
  REQUIRE(config->rdma.control_traffic_class == 22);
  REQUIRE_FALSE(config->rdma.return_async_events);
  REQUIRE(config->rdma.qps == 128);
  REQUIRE(
      config->rdma.unused_variables ==
      std::vector<std::string>{
          "environment NCCL_IB_MERGE_NICS=1 is not read: each port is a device of its own; none are fused",
          "environment NCCL_IB_RESILIENCY_PORT_FAILOVER=1 is not read: a failed queue pair fails its comm",
          "environment NCCL_IB_TOMORROW=x is not read: it is unknown to this version of tfabric, and changes "
          "nothing"});
}

TEST_CASE("NCCL's variable is read from the process") {
  setenv("NCCL_IB_HCA", "=mlx5_9", 1);
  const Environment variables = process_environment();
  unsetenv("NCCL_IB_HCA");
  REQUIRE(variables.at("NCCL_IB_HCA") == "=mlx5_9");
}

TEST_CASE("NCCL's variables set how two ranks meet and how queue pairs are set up") {
  const auto config = load_environment({{"NCCL_SOCKET_IFNAME", "^docker,lo"},
                                        {"NCCL_SOCKET_FAMILY", "AF_INET6"},
                                        {"NCCL_IB_QPS_PER_CONNECTION", "4"},
                                        {"NCCL_IB_SPLIT_DATA_ON_QPS", "1"},
                                        {"NCCL_IB_TC", "106"},
                                        {"NCCL_IB_SL", "3"},
                                        {"NCCL_IB_PKEY", "2"},
                                        {"NCCL_IB_TIMEOUT", "22"},
                                        {"NCCL_IB_RETRY_CNT", "5"},
                                        {"NCCL_IB_ADAPTIVE_ROUTING", "1"},
                                        {"NCCL_IB_AR_THRESHOLD", "0"},
                                        {"NCCL_IB_PCI_RELAXED_ORDERING", "0"},
                                        {"NCCL_IB_USE_INLINE", "1"},
                                        {"NCCL_GDR_FLUSH_DISABLE", "1"},
                                        {"NCCL_IB_DATA_DIRECT", "2"}});
  REQUIRE(config.ok());
  const Rdma& rdma = config->rdma;
  REQUIRE_FALSE(rdma.bootstrap_interface.selects("docker0"));
  REQUIRE(rdma.bootstrap_interface.selects("eth0"));
  REQUIRE(rdma.bootstrap_family == AddressFamily::ipv6);
  REQUIRE(rdma.qps == 4);
  REQUIRE(rdma.split);
  REQUIRE(rdma.traffic_class == 106);
  REQUIRE(rdma.service_level == 3);
  REQUIRE(rdma.pkey == 2);
  REQUIRE(rdma.timeout == 22);
  REQUIRE(rdma.retry_count == 5);
  REQUIRE(rdma.adaptive_routing == Switch::on);
  REQUIRE(rdma.adaptive_routing_threshold == 0);
  REQUIRE(rdma.relaxed_ordering == Switch::off);
  REQUIRE(rdma.use_inline);
  REQUIRE(rdma.gdr_flush_disable);
  REQUIRE(rdma.data_direct == DataDirect::only);
}

TEST_CASE("NCCL's values for automatic choice mean the same here") {
  const auto config =
      load_environment({{"NCCL_IB_PCI_RELAXED_ORDERING", "2"}, {"NCCL_IB_TC", "-1"}, {"NCCL_IB_SL", "-1"}});
  REQUIRE(config->rdma.relaxed_ordering == Switch::automatic);
  REQUIRE(entry_of(*config, "rdma.relaxed_ordering").value == "auto");
  REQUIRE(config->rdma.traffic_class == -1);
  REQUIRE(config->rdma.service_level == -1);
}

TEST_CASE("NCCL's variables that a key has are read from the process, others are not") {
  setenv("NCCL_SOCKET_IFNAME", "eth", 1);
  setenv("NCCL_SOCKET_NTHREADS", "2", 1);
  const Environment variables = process_environment();
  unsetenv("NCCL_SOCKET_IFNAME");
  unsetenv("NCCL_SOCKET_NTHREADS");
  REQUIRE(variables.at("NCCL_SOCKET_IFNAME") == "eth");
  REQUIRE(variables.count("NCCL_SOCKET_NTHREADS") == 0);
}
