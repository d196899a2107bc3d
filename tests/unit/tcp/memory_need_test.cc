#include "transport/rails/memory_need.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/fake_host.h"

using namespace tfabric;
using namespace tfabric::rails;
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

// The table of docs/configuration.md. A NIC's packet buffers take more of ordinary memory, since none lies
// across two small pages.
TEST_CASE("what a process needs is as the documentation says") {
  const auto need = [](config::Rail rail) {
    config::Tcp tcp;
    tcp.rails.push_back(std::move(rail));
    return memory_need_mib(tcp);
  };
  using enum config::RailKind;
  CHECK(need({.name = "m", .kind = memif}).ordinary == 125);
  CHECK(need({.name = "m", .kind = memif, .device = "/run/m.sock"}).ordinary == 125);
  CHECK(need({.name = "v", .kind = vhost, .device = "/run/v.sock"}).ordinary == 110);
  CHECK(need({.name = "p", .kind = af_packet, .device = "no-such-if"}).ordinary == 110);
  CHECK(need({.name = "t", .kind = tap, .device = "no-such-if"}).ordinary == 109);
  const hugepage::Need eni = need({.name = "e", .kind = pci, .device = "0000:00:10.0", .mtu = 1500});
  CHECK(eni.hugepages == 85);
  CHECK(eni.ordinary == 109);
  const hugepage::Need jumbo = need({.name = "e", .kind = pci, .device = "0000:00:10.0", .mtu = 9000});
  CHECK(jumbo.hugepages == 110);
  CHECK(jumbo.ordinary == 129);
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
