// What a container or `ulimit` refuses to a process, said before DPDK starts.
#include "transport/rails/process_limits.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <limits>

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;

namespace {

ProcessLimits generous() {
  return {.descriptors = 1024,
          .descriptors_left = 1000,
          .file_bytes = std::numeric_limits<std::uint64_t>::max(),
          .memory_file_fault = {},
          .cpu = 3,
          .cpu_visible = true};
}

std::string fault_of(const ProcessLimits& limits, config::RailKind kind = config::RailKind::memif) {
  config::Tcp tcp;
  tcp.rails = {{.name = "shm", .kind = kind}};
  const auto fault = process_fault(tcp, limits);
  return fault ? fault->what + ": " + fault->fix : std::string();
}

}  // namespace

TEST_CASE("a process without tight limits has no fault, nor has this one") {
  CHECK(fault_of(generous()).empty());
  CHECK(fault_of(process_limits()).empty());
}

TEST_CASE("each refusal is named, with what allows it") {
  ProcessLimits limits = generous();
  SECTION("hidden CPUs") {
    limits.cpu_visible = false;
    CHECK_THAT(fault_of(limits), Contains("/sys/devices/system/cpu does not show CPU 3") &&
                                     Contains("let the container see /sys"));
  }
  SECTION("descriptors") {
    limits.descriptors = 16;
    limits.descriptors_left = 9;
    CHECK_THAT(fault_of(limits), Contains("may open 9 more files (`ulimit -n` is 16)"));
  }
  SECTION("memfd_create, which only memif needs") {
    limits.memory_file_fault = "Operation not permitted";
    CHECK_THAT(fault_of(limits), Contains("rail shm") && Contains("memfd_create(2)") && Contains("seccomp"));
    CHECK(fault_of(limits, config::RailKind::af_packet).empty());
  }
  SECTION("the size of files, which only memif needs") {
    limits.file_bytes = 1024;
    CHECK_THAT(fault_of(limits), Contains("`ulimit -f` allows 1024"));
    CHECK(fault_of(limits, config::RailKind::af_packet).empty());
  }
}

TEST_CASE("the limits of this process are read") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit tight = before;
  tight.rlim_cur = 40;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const ProcessLimits limits = process_limits();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(limits.descriptors == 40);
  CHECK(limits.descriptors_left < 40);
  CHECK(limits.descriptors_left > 0);
}
