// NCCL's own variables, which users of RDMA have set already.
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

TEST_CASE("NCCL's variable wins over the file, and our own over NCCL's") {
  const std::string file = "[rdma]\nhca = \"mlx5_0\"\n";
  const auto nccl = load_text(file, {{"NCCL_IB_HCA", "mlx5_1"}});
  REQUIRE(entry_of(*nccl, "rdma.hca").value == "mlx5_1");
  const auto ours = load_text(file, {{"NCCL_IB_HCA", "mlx5_1"}, {"TFABRIC_RDMA_HCA", "mlx5_2"}});
  REQUIRE(entry_of(*ours, "rdma.hca").value == "mlx5_2");
  REQUIRE(entry_of(*ours, "rdma.hca").origin == "environment TFABRIC_RDMA_HCA");
}

TEST_CASE("a variable of NCCL's that is not understood is not taken, and the key's origin says so") {
  const auto config = load_environment({{"NCCL_IB_GID_INDEX", "three"}});
  REQUIRE(config.ok());
  REQUIRE(config->rdma.gid_index == -1);
  REQUIRE_THAT(entry_of(*config, "rdma.gid_index").origin,
               Contains("default (environment NCCL_IB_GID_INDEX is \"three\", expected the index of a GID") &&
                   Contains("not taken"));
}

TEST_CASE("variables of NCCL's that are empty, or none of ours, change nothing") {
  const auto config = load_environment({{"NCCL_IB_HCA", ""}, {"NCCL_IB_TIMEOUT", "22"}});
  REQUIRE(config.ok());
  REQUIRE(entry_of(*config, "rdma.hca").origin == "default");
}

TEST_CASE("the process's variables that begin with NCCL_IB_ are taken") {
  setenv("NCCL_IB_HCA", "=mlx5_9", 1);
  const Environment variables = process_environment();
  unsetenv("NCCL_IB_HCA");
  REQUIRE(variables.at("NCCL_IB_HCA") == "=mlx5_9");
}
