// Messages from and to memory that the CPU cannot touch, over a network that offers GPU memory
// (CONTRACT_WIRE=rdma with rdma.gdr = "on").
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"
#include "tests/gpu_pages.h"

using namespace tfabric::contract;
using tfabric::test::GpuPages;

namespace {

constexpr std::size_t kSizes[] = {1, 8, 16, 28, 60, 64, 128, 220, 4096, 300000};
constexpr std::size_t kLargest = 300000;
constexpr std::size_t kPages = 1 << 19;
static_assert(kPages > kLargest);

}  // namespace

CONTRACT_PART(gpu_sender) {
  Net net;
  void* comm = open_send(net, channel);
  GpuPages pages(kPages);
  void* memory = net.register_memory(comm, pages.address(), pages.size(), kCudaMemory);
  pages.hide_from_cpu();
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    fill_pattern(pages.alias(), kSizes[i], i);
    net.wait(net.isend(comm, pages.address(), kSizes[i], 0, memory));
  }
  channel.meet(1);
  net.deregister_memory(comm, memory);
  net.close_send(comm);
}
CONTRACT_PART(gpu_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  GpuPages pages(kPages);
  void* memory = net.register_memory(comm, pages.address(), pages.size(), kCudaMemory);
  pages.hide_from_cpu();
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    std::memset(pages.alias(), 0, kSizes[i]);
    const PluginReceive receive{pages.address(), kLargest, 0, memory};
    int size = -1;
    net.wait(net.irecv(comm, receive), &size);
    CONTRACT_EXPECT(static_cast<std::size_t>(size) == kSizes[i], "{} bytes reported for {}", size, kSizes[i]);
    void* flush = nullptr;
    CONTRACT_EXPECT(net.table().iflush(comm, std::span(&receive, 1), &flush) == kSuccess, "iflush");
    if (flush != nullptr) net.wait(flush);
    expect_pattern(pages.alias(), kSizes[i], i);
  }
  channel.meet(1);
  net.deregister_memory(comm, memory);
  net.close_recv(comm);
}

TEST_CASE("messages come from and go to memory that the CPU cannot touch", "[gpu]") {
  run({{"gpu_sender"}, {"gpu_receiver"}});
}
