// Memory that ports in reserve learn of later, while more is registered and other is not any more.
#include "transport/rdma/pairs/group_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tests/unit/rdma/good.h"
#include "tests/unit/rdma/pairs/made_up_verbs.h"
#include "transport/engine/engine.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::pairs;
using namespace tfabric::rdma::test;
using Catch::Contains;

namespace {

// A port of its own, and one in reserve, of number 1.
struct TwoPorts {
  explicit TwoPorts(const Verbs* other = nullptr) {
    const Verbs& verbs = other == nullptr ? fabric.verbs() : *other;
    for (std::size_t i = 0; i < 2; ++i) {
      pds.push_back(good(allocate_protection_domain(fabric.verbs(), fabric.add_hca())));
      caches.push_back(std::make_unique<RegistrationCache>(verbs, *pds.back(), /*relaxed_ordering=*/false));
      memory.add(i == 0 ? "own:1" : "reserve:1", caches.back().get(), /*in_reserve=*/i == 1);
    }
  }
  // Of addresses alone, which are not accessed.
  std::unique_ptr<lane::RegisteredMemory> enter(std::uintptr_t page) {
    return good(memory.enter({.data = reinterpret_cast<void*>(page << 12), .size = 4096, .dmabuf = {}}));
  }

  MadeUpVerbs fabric{1};
  std::vector<ProtectionDomain> pds;
  std::vector<std::unique_ptr<RegistrationCache>> caches;
  GroupMemory memory;
  engine::Engine engine{{}};
};

}  // namespace

TEST_CASE(
    "a port in reserve knows memory once it is to be used, what was there before and what comes after") {
  TwoPorts ports;
  const engine::Guard guard(ports.engine.lock());
  const auto before = ports.enter(1);
  CHECK((before->keys()[0] != 0 && before->keys()[1] == 0));
  CHECK(GroupMemory::local_key(before.get(), 0));
  CHECK_FALSE(GroupMemory::local_key(before.get(), 1));
  CHECK_FALSE(GroupMemory::local_key(nullptr, 0));
  ports.memory.enlist(1);
  const auto meanwhile = ports.enter(2);
  CHECK(meanwhile->keys()[1] != 0);
  auto gone = ports.enter(3);
  REQUIRE(ports.memory.register_earlier(1).ok());
  gone.reset();
  CHECK(before->keys()[1] == 0);  // those who write there look at it with the engine held
  ports.memory.publish(1);
  CHECK(before->keys()[1] != 0);
  CHECK(GroupMemory::local_key(before.get(), 1));
  CHECK(ports.caches[1]->regions() == 2);
}

TEST_CASE("memory that is registered later, and that its user gives back meanwhile, is given back") {
  TwoPorts ports;
  std::vector<std::unique_ptr<lane::RegisteredMemory>> kept, given_back;
  for (std::uintptr_t i = 1; i <= 300; ++i) {
    (i % 3 == 0 ? kept : given_back).push_back(ports.enter(2 * i));
  }
  std::atomic<bool> ends{false};
  std::thread gives_back([&] {
    while (!given_back.empty()) {
      given_back.pop_back();
    }
  });
  std::thread enters([&] {
    for (std::uintptr_t i = 1000; !ends; ++i) {
      ports.enter(2 * i);
    }
  });
  ports.memory.enlist(1);
  std::thread registers([&] { CHECK(ports.memory.register_earlier(1).ok()); });
  registers.join();
  gives_back.join();
  ends = true;
  enters.join();
  const engine::Guard guard(ports.engine.lock());
  ports.memory.publish(1);
  for (const auto& each : kept) {
    REQUIRE(each->keys()[1] != 0);
  }
  CHECK(ports.caches[1]->regions() == kept.size());
  kept.clear();
  CHECK((ports.caches[0]->regions() == 0 && ports.caches[1]->regions() == 0));
}

TEST_CASE("what cannot be registered with a port in reserve is named") {
  TwoPorts ports;
  const auto before = ports.enter(1);
  ports.fabric.reg_mr_error = ENOMEM;
  ports.memory.enlist(1);
  const Status registered = ports.memory.register_earlier(1);
  REQUIRE_FALSE(registered.ok());
  CHECK_THAT(registered.error().message, Contains("reserve:1"));
}

TEST_CASE("a DMA-BUF is registered later though its user has closed the descriptor") {
  static std::vector<int> files;
  static const Verbs* plain = nullptr;
  MadeUpVerbs provider{1};
  plain = &provider.verbs();
  Verbs verbs = *plain;
  verbs.reg_dmabuf_mr = [](ibv_pd* pd, std::uint64_t, std::size_t length, std::uint64_t iova, int fd,
                           int access) {
    files.push_back(::fcntl(fd, F_GETFD));
    return plain->reg_mr(pd, reinterpret_cast<void*>(iova), length, access);
  };
  files.clear();
  TwoPorts ports(&verbs);
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto memory = good(ports.memory.enter({.data = reinterpret_cast<void*>(0x10000000),
                                               .size = 4096,
                                               .kind = transport::MemoryKind::dmabuf,
                                               .dmabuf = {{.offset = 0, .fd = file}}}));
  ::close(file);
  ports.memory.enlist(1);
  REQUIRE(ports.memory.register_earlier(1).ok());
  REQUIRE(files.size() == 2);
  CHECK((files[0] >= 0 && files[1] >= 0));
}
