#include "transport/tcp/memory_limits.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/fake_host.h"
#include "transport/tcp/memory_need.h"

using namespace tfabric;
using namespace tfabric::tcp;
using Catch::Contains;

namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

struct Host : test::FakeHost {
  Host() {
    write("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
    write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n");
    write("/proc/self/cgroup", "0::/job\n");
  }
};

}  // namespace

TEST_CASE("a control group leaves a process fewer hugepages than are free") {
  const Host host;
  REQUIRE(allowed_pages(host.root()).pages.free_bytes() == 1000 * kMib);
  REQUIRE(allowed_pages(host.root()).limits.empty());
  host.write("/sys/fs/cgroup/job/hugetlb.2MB.max", "2097152000\n");
  REQUIRE(allowed_pages(host.root()).limits.empty());
  host.write("/sys/fs/cgroup/job/hugetlb.2MB.max", "67108864\n");
  const AllowedPages allowed = allowed_pages(host.root());
  REQUIRE(allowed.pages.free_bytes() == 64 * kMib);
  REQUIRE_THAT(allowed.limits, Contains("/sys/fs/cgroup/job/hugetlb.2MB.max"));
}

TEST_CASE("a NIC's packet buffers take more of ordinary memory, since none lies across two small pages") {
  config::Tcp tcp;
  tcp.rails.push_back({.name = "eni", .kind = config::RailKind::pci, .device = "0000:00:10.0", .mtu = 1500});
  const hugepage::Need need = memory_need_mib(tcp);
  REQUIRE(need.hugepages == 125);  // docs/configuration.md
  REQUIRE(need.ordinary == 173);
}

TEST_CASE("a control group with less memory than is needed is an error that names it") {
  const Host host;
  REQUIRE(check_ordinary_memory(200, host.root()));
  host.write("/sys/fs/cgroup/job/memory.max", "209715200\n");
  REQUIRE(check_ordinary_memory(200, host.root()));
  const Status status = check_ordinary_memory(201, host.root());
  REQUIRE_FALSE(status);
  REQUIRE(status.error().code == Errc::unusable);
  REQUIRE_THAT(status.error().message, Contains("200 MiB") && Contains("/sys/fs/cgroup/job/memory.max"));
}
