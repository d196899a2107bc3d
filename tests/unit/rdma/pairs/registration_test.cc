// The registration cache, and the errors of memory that cannot be registered.
#include "transport/rdma/memory/registration.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/unit/rdma/good.h"
#include "tests/unit/rdma/pairs/made_up_verbs.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;
using transport::MemoryKind;

namespace {

constexpr std::size_t kPage = 4096;

struct CacheWorld {
  explicit CacheWorld(bool relaxed_ordering = false, Verbs with = {})
      : verbs(with.reg_mr == nullptr ? fabric.verbs() : with),
        pd(good(allocate_protection_domain(fabric.verbs(), fabric.add_hca()))),
        cache(verbs, *pd, relaxed_ordering) {}

  RegistrationCache::Lease acquire(std::size_t at, std::size_t size, MemoryKind kind = MemoryKind::host) {
    return good(cache.acquire(memory + at, size, kind, std::nullopt));
  }

  MadeUpVerbs fabric{1};
  Verbs verbs;
  ProtectionDomain pd;
  RegistrationCache cache;
  // Addresses only; the memory is not accessed.
  std::byte* memory = reinterpret_cast<std::byte*>(0x10000000);
};

}  // namespace

TEST_CASE("a registration is of whole pages, and serves what lies within it until its last user has gone") {
  CacheWorld world;
  const auto first = world.acquire(100, 2 * kPage);
  REQUIRE(first.mr->addr == world.memory);
  REQUIRE(first.mr->length == 3 * kPage);
  const auto again = world.acquire(kPage, 10);
  REQUIRE(again.mr == first.mr);
  REQUIRE(world.fabric.mrs == 1);
  const auto same = world.acquire(100, 2 * kPage);
  world.cache.release(first);
  world.cache.release(same);
  REQUIRE(world.fabric.mrs == 1);
  world.cache.release(again);
  REQUIRE(world.fabric.mrs == 0);
}

TEST_CASE("pages whose registration has ended are registered anew, though another's region has them still") {
  CacheWorld world;
  const auto large = world.acquire(0, 8 * kPage);
  const auto small = world.acquire(2 * kPage, kPage);
  world.cache.release(large);
  const auto other = world.acquire(4 * kPage, kPage);
  REQUIRE(other.mr != small.mr);
  const auto within = world.acquire(2 * kPage, 1);
  REQUIRE(within.mr == small.mr);
  world.cache.release(small);
  world.cache.release(other);
  world.cache.release(within);
  REQUIRE(world.cache.regions() == 0);
}

TEST_CASE("memory of another kind at the same address is another registration") {
  CacheWorld world;
  const auto host = world.acquire(0, 10);
  const auto cuda = world.acquire(0, 10, MemoryKind::cuda);
  REQUIRE(host.mr != cuda.mr);
  world.cache.release(host);
  world.cache.release(cuda);
}

TEST_CASE("a DMA-BUF is registered as it is, at its offset, where the library can") {
  CacheWorld world;
  const auto lease =
      good(world.cache.acquire(world.memory + 8, 100, MemoryKind::dmabuf, DmaBuf{.offset = 8192, .fd = 3}));
  REQUIRE(lease.mr->addr == world.memory + 8);
  REQUIRE(lease.mr->length == 100);
  REQUIRE(world.fabric.dmabuf_offset == 8192);
  world.cache.release(lease);
  Verbs old = world.fabric.verbs();
  old.reg_dmabuf_mr = nullptr;
  CacheWorld without(false, old);
  REQUIRE_THAT(without.cache.acquire(without.memory, 100, MemoryKind::dmabuf, DmaBuf{.offset = 0, .fd = 3})
                   .error()
                   .message,
               Contains("this libibverbs cannot register DMA-BUF memory: install rdma-core 34"));
}

TEST_CASE("a port of Data Direct takes DMA-BUFs through that function, and nothing else") {
  MadeUpVerbs fabric{1};
  static int asked = 0;
  static const Verbs* plain = nullptr;
  plain = &fabric.verbs();
  Verbs verbs = *plain;
  verbs.mlx5_reg_dmabuf_mr = [](ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                int fd, int access, int mlx5_access) {
    asked = mlx5_access;
    return plain->reg_dmabuf_mr(pd, offset, length, iova, fd, access);
  };
  const auto pd = good(allocate_protection_domain(verbs, fabric.add_hca()));
  RegistrationCache cache(verbs, *pd, /*relaxed_ordering=*/false, /*data_direct=*/true);
  std::array<std::byte, 4096> memory{};
  cache.release(good(cache.acquire(memory.data(), 100, MemoryKind::host, {})));
  REQUIRE(asked == 0);
  cache.release(good(cache.acquire(memory.data(), 100, MemoryKind::dmabuf, DmaBuf{.offset = 0, .fd = 3})));
  REQUIRE(asked == kMlx5AccessDataDirect);
}

TEST_CASE("relaxed ordering is asked for where it is wished and the library can") {
  CacheWorld relaxed(true);
  relaxed.cache.release(relaxed.acquire(0, 1));
  REQUIRE((relaxed.fabric.last_access & IBV_ACCESS_RELAXED_ORDERING) != 0);
  Verbs old = relaxed.fabric.verbs();
  old.reg_mr_iova2 = nullptr;
  CacheWorld without(true, old);
  without.cache.release(without.acquire(0, 1));
  REQUIRE(without.fabric.last_access ==
          (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
}

TEST_CASE("a registration that the limit of locked memory refuses names the limit, and how to raise it") {
  REQUIRE_THAT(registration_fault(ENOMEM, 1048576, 65536),
               Contains("1048576 bytes cannot be registered: Cannot allocate memory; RLIMIT_MEMLOCK is 65536 "
                        "bytes") &&
                   Contains("ulimit -l unlimited") && Contains("--ulimit memlock=-1:-1"));
  REQUIRE_THAT(registration_fault(ENOMEM, 10, ~std::uint64_t{0}),
               Contains("RLIMIT_MEMLOCK is unlimited, so"));
  REQUIRE_THAT(registration_fault(EFAULT, 10, 65536), Contains("Bad address; is the address still mapped"));
  CacheWorld world;
  world.fabric.reg_mr_error = ENOMEM;
  const auto refused = world.cache.acquire(world.memory, 10, MemoryKind::host, std::nullopt);
  REQUIRE(refused.error().code == Errc::system);
  REQUIRE_THAT(refused.error().message,
               Contains("4096 bytes cannot be registered") && Contains("RLIMIT_MEMLOCK"));
  REQUIRE(world.cache.regions() == 0);
}
