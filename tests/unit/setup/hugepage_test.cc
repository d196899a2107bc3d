#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"
#include "tools/setup/plan.h"
#include "transport/rails/memory_need.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::undo_setup;

namespace {

const std::string kSmall = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const std::string kLarge = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";

void offer_large(FakeKernel& kernel, std::uint64_t found) {
  kernel.files.write(kLarge, "0\n");
  kernel.most_large = found;
}

}  // namespace

TEST_CASE("hugepages are reserved for one process a GPU or rank, by the rails that it uses") {
  FakeKernel kernel;
  kernel.add_cloud();
  // 40 MiB, a rail of MTU 9001 and one of 1500.
  constexpr int kEach = 40 + 74 + 46;
  SECTION("one without a GPU") {
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.read(kSmall) == std::to_string(kEach / 2) + "\n");
  }
  // With two ranks or more, each uses one rail.
  constexpr int kShare = 40 + 74;
  SECTION("one for each GPU") {
    for (const std::string address : {"0000:10:00.0", "0000:11:00.0"}) {
      kernel.files.write(kernel.files.add_function(address, "0x030200") + "/vendor", "0x10de\n");
    }
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.read(kSmall) == std::to_string(kShare) + "\n");
  }
  SECTION("as many as are asked for") {
    REQUIRE(apply_setup(kernel, {.ranks = 4}).code == kOk);
    REQUIRE(kernel.read(kSmall) == std::to_string(4 * kShare / 2) + "\n");
  }
  SECTION("in GiB") {
    REQUIRE(apply_setup(kernel, {.hugepages_gib = 3}).code == kOk);
    REQUIRE(kernel.read(kSmall) == "1536\n");
  }
  SECTION("by HARP's rule") {
    for (const std::string address : {"0000:10:00.0", "0000:11:00.0"}) {
      kernel.files.write(kernel.files.add_function(address, "0x030200") + "/vendor", "0x10de\n");
    }
    offer_large(kernel, 20);
    kernel.files.write("/proc/meminfo", "MemAvailable: 25165824 kB\n");
    REQUIRE(apply_setup(kernel, {.harp_hugepages = true}).code == kOk);
    REQUIRE(kernel.read(kLarge) == "20\n");
    REQUIRE(kernel.read(kSmall) == "0\n");
  }
  SECTION("in addition to those in use") {
    kernel.files.write(kSmall, "100\n");
    kernel.files.write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "40\n");
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.read(kSmall) == std::to_string(60 + kEach / 2) + "\n");
    REQUIRE(undo_setup(kernel).code == kOk);
    REQUIRE(kernel.read(kSmall) == "100\n");
  }
}

TEST_CASE("a process never takes more hugepages than are reserved for it") {
  for (const std::uint32_t mtu : {576u, 1500u, 2048u, 2049u, 4000u, 9001u, 9216u}) {
    config::Tcp tcp;
    std::vector<Eni> enis;
    for (std::size_t rails = 1; rails <= 8; ++rails) {
      CAPTURE(mtu, rails);
      tcp.rails.push_back({.name = "eni", .kind = config::RailKind::pci, .mtu = mtu});
      enis.push_back({.mtu = mtu});
      REQUIRE(process_need_mib(enis) >= rails::memory_need_mib(tcp).hugepages);
    }
  }
}

TEST_CASE("pages of 1 GiB are used if the kernel can provide them, else pages of 2 MiB") {
  FakeKernel kernel;
  kernel.add_cloud();
  offer_large(kernel, 2);
  SECTION("it can") {
    REQUIRE(apply_setup(kernel, {.ranks = 2}).code == kOk);
    REQUIRE(kernel.read(kLarge) == "2\n");
    REQUIRE(kernel.read(kSmall) == "0\n");
  }
  SECTION("it provides too few, and gets them back") {
    REQUIRE(apply_setup(kernel, {.ranks = 3}).code == kOk);
    REQUIRE(kernel.read(kLarge) == "0\n");
    REQUIRE(kernel.read(kSmall) == std::to_string(3 * (40 + 74) / 2) + "\n");
  }
  SECTION("they would be most of the memory") {
    kernel.most_large = 100;
    REQUIRE(apply_setup(kernel, {.ranks = 9}).code == kOk);
    REQUIRE(kernel.read(kLarge) == "0\n");
  }
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(kernel.read(kLarge) == "0\n");
  REQUIRE(kernel.read(kSmall) == "0\n");
}

TEST_CASE("too little memory is an error before anything is changed, or when the kernel provides less") {
  FakeKernel kernel;
  kernel.add_cloud();
  const auto before = kernel.snapshot();
  SECTION("before anything is changed") {
    const Ended ended = apply_setup(kernel, {.hugepages_gib = 20});
    REQUIRE(ended.code == kNothing);
    REQUIRE_THAT(ended.err, Contains("20480 MiB of hugepages are needed"));
    REQUIRE(kernel.changes == 0);
  }
  SECTION("when the kernel provides less") {
    kernel.most_small = 50;
    const Ended ended = apply_setup(kernel);
    REQUIRE(ended.code == kFailed);
    REQUIRE_THAT(ended.err, Contains("gave 50 hugepages of 2 MiB more and not 80"));
  }
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("hugetlbfs is mounted unless it is mounted already") {
  FakeKernel kernel;
  kernel.add_cloud();
  SECTION("it is not") {
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE_THAT(*kernel.read("/proc/mounts"), Contains("/dev/hugepages hugetlbfs"));
  }
  SECTION("it is, elsewhere") {
    kernel.files.write("/proc/mounts", "none /mnt/huge hugetlbfs rw 0 0\n");
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.read("/proc/mounts") == "none /mnt/huge hugetlbfs rw 0 0\n");
  }
}
