#include "transport/rdma/memory/gpu_memory.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "machine.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

namespace {

constexpr std::uint32_t kHost = 1, kCuda = 2, kDmaBuf = 4;

struct Probe {
  Probe() { machine.add("mlx5_0"); }

  GpuMemory operator()(config::Switch wished = config::Switch::automatic) {
    const ContextHandle context = machine.fake.open(0);
    const GpuMemory found = probe_gpu_memory(machine.fake.verbs(), *context, machine.tree.sysfs(), wished);
    REQUIRE(machine.fake.pds == 0);
    return found;
  }

  Machine machine;
};

}  // namespace

TEST_CASE("without a peer-memory module and DMA-BUF only host memory can be registered") {
  const GpuMemory found = Probe()();
  REQUIRE(found.memory_kinds() == kHost);
  REQUIRE(found.reason ==
          "the HCA's driver takes no DMA-BUF; no peer-memory module (nvidia-peermem) is loaded");
}

TEST_CASE("a Data Direct function counts where the HCA is NVIDIA's and takes DMA-BUFs") {
  Probe probe;
  probe.machine.fake.data_direct = "/devices/pci0000:00/0000:00:03.0/0000:05:00.2";
  REQUIRE(probe().data_direct.empty());
  probe.machine.fake.dmabuf_error = EBADF;
  REQUIRE(probe().data_direct == "/sys/devices/pci0000:00/0000:00:03.0/0000:05:00.2");
  REQUIRE_THAT(probe().reason, Contains("by DMA-BUF, also by Data Direct"));
  REQUIRE(probe(config::Switch::off).data_direct.empty());
  probe.machine.fake.data_direct.clear();
  REQUIRE(probe().data_direct.empty());
  probe.machine.fake.data_direct.assign(5000, 'x');  // longer than a path
  REQUIRE(probe().data_direct.empty());
}

TEST_CASE("each of the ways is found") {
  Probe probe;
  SECTION("nv_peer_mem") {
    probe.machine.tree.write("kernel/mm/memory_peers/nv_mem/version", "1.3");
    REQUIRE(probe().memory_kinds() == (kHost | kCuda));
    REQUIRE_THAT(probe().reason, Contains("by nv_peer_mem"));
  }
  SECTION("nvidia-peermem") {
    probe.machine.tree.write("module/nvidia_peermem/version", "550.54.15");
    REQUIRE(probe().memory_kinds() == (kHost | kCuda));
    REQUIRE_THAT(probe().reason, Contains("by nvidia-peermem"));
  }
  SECTION("DMA-BUF: the driver looks at the file, which is none") {
    probe.machine.fake.dmabuf_error = EBADF;
    // The GPU's driver may export none; then GPU addresses must not be registered.
    REQUIRE(probe().memory_kinds() == (kHost | kDmaBuf));
    REQUIRE_THAT(probe().reason, Contains("by DMA-BUF"));
  }
  SECTION("DMA-BUF: the driver has taken what is no file") {
    probe.machine.fake.dmabuf_error = 0;
    REQUIRE(probe().dmabuf);
  }
}

TEST_CASE("the configuration has the last word") {
  Probe probe;
  REQUIRE(probe(config::Switch::on).memory_kinds() == (kHost | kCuda));
  REQUIRE_THAT(probe(config::Switch::on).reason, Contains("claimed by rdma.gdr"));
  probe.machine.fake.dmabuf_error = EBADF;
  REQUIRE(probe(config::Switch::off).memory_kinds() == kHost);
  REQUIRE(probe(config::Switch::off).reason == "switched off by rdma.gdr");
}
