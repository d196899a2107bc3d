// What `tfabric check` says of memory. The rail of these tests needs 110 MiB (docs/configuration.md).
#include <catch2/catch.hpp>

#include "broken_host.h"
#include "host/limits.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::pci_rail;
using test::text_of;

namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

// A NIC with all that it needs, until a test takes it away.
struct NicHost : BrokenHost {
  explicit NicHost(const std::string& more = {}) {
    add_nic();
    configure(more + pci_rail());
  }
};

}  // namespace

TEST_CASE("a note says how many hugepages are taken") {
  NicHost broken;
  broken.set_hugepages(1048576, 0, 0);
  REQUIRE(text_of(broken.examine(), Id::hugepages_used) ==
          "note memory: a process takes up to 110 MiB of hugepages; free are 512 of 512 pages of 2 MiB | ");
}

TEST_CASE("too few hugepages are a warning with the command that reserves the missing ones") {
  NicHost broken;
  broken.set_hugepages(2048, 100, 40);
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::hugepages_too_few),
               StartsWith("warning memory: 40 of 100 pages of 2 MiB are free, and 110 MiB are needed") &&
                   Contains("echo 115 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages (55 more"));
  REQUIRE(exit_code_of(report) == kWarnings);
  REQUIRE(report.verdict.network == Network::tcp);
}

TEST_CASE("a process needs memory for the rails that it takes, not for all rails of the host") {
  NicHost broken;
  broken.configure(pci_rail() +
                   "[[tcp.rails]]\nname = \"eni2\"\nkind = \"pci\"\ndevice = \"0000:00:11.0\"\n"
                   "addresses = [\"10.0.2.5/24\"]\n");
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_used), Contains("a process takes up to 110 MiB"));
  broken.host.environment["TFABRIC_TCP_RAILS_PER_PROCESS"] = "all";
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_used), Contains("a process takes up to 180 MiB"));
}

TEST_CASE("having no hugepages has a finding of its own") {
  NicHost broken;
  broken.set_hugepages(2048, 0, 0);
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_none),
               Contains("no hugepages are reserved") && Contains("echo 55 >"));
  std::filesystem::remove_all(broken.host.root + "/sys/kernel/mm/hugepages");
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_none), Contains("kernel offers no hugepages"));
}

TEST_CASE("hugepages that are required and missing are an error") {
  NicHost broken("memory.hugepages = \"required\"\n");
  broken.set_hugepages(2048, 100, 40);
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::hugepages_too_few), StartsWith("error memory: "));
  REQUIRE(report.verdict.network == Network::nccl);
}

TEST_CASE("hugepages that are off are a note where a NIC would gain by them") {
  const NicHost broken("memory.hugepages = \"off\"\n");
  const Report report = broken.examine();
  REQUIRE(has(report, Id::hugepages_off));
  REQUIRE(exit_code_of(report) == kAllRight);
}

TEST_CASE("a budget that is too small is an error with the number that is enough") {
  const NicHost broken("memory.budget_mib = 100\n");
  REQUIRE_THAT(text_of(broken.examine(), Id::memory_budget_too_small),
               StartsWith("error ") && Contains("memory.budget_mib = 110"));
}

TEST_CASE("pages of 1 GiB are taken whole") {
  NicHost broken;
  broken.set_hugepages(1048576, 4, 4);
  REQUIRE_FALSE(has(broken.examine(), Id::hugepages_rounded_up));
  broken.set_hugepages(2048, 0, 0);
  REQUIRE_THAT(text_of(broken.examine(), Id::hugepages_rounded_up), Contains("takes 1 GiB for the 110 MiB"));
}

TEST_CASE("no hugetlbfs is needed, but one that is mounted must be readable") {
  NicHost broken;
  broken.denied = {"/dev/hugepages"};
  const Report denied = broken.examine();
  REQUIRE_THAT(text_of(denied, Id::hugetlbfs_denied), EndsWith("as root: chmod a+rx /dev/hugepages"));
  REQUIRE(denied.verdict.network == Network::nccl);
  broken.files.write("/proc/mounts", "proc /proc proc rw 0 0\n");
  const Report none = broken.examine();
  REQUIRE(has(none, Id::hugetlbfs_not_mounted));
  REQUIRE(exit_code_of(none) == kAllRight);
}

TEST_CASE("a control group that allows fewer hugepages is reported with a fix") {
  NicHost broken;
  SECTION("version 2, as a container sees its own") {
    broken.files.write("/proc/self/cgroup", "0::/\n");
    broken.files.write("/sys/fs/cgroup/hugetlb.2MB.max", "67108864\n");
    const Report report = broken.examine();
    REQUIRE_THAT(text_of(report, Id::cgroup_hugetlb_too_small),
                 StartsWith("warning ") &&
                     Contains("64 MiB of the hugepages (/sys/fs/cgroup/hugetlb.2MB.max)") &&
                     Contains("ordinary memory is taken") && Contains("`hugepages-2Mi: 110Mi`") &&
                     Contains("echo 115343360 > /sys/fs/cgroup/hugetlb.2MB.max"));
    REQUIRE(report.verdict.network == Network::tcp);
  }
  SECTION("where they are required") {
    broken.configure("memory.hugepages = \"required\"\n" + pci_rail());
    broken.files.write("/proc/self/cgroup", "0::/\n");
    broken.files.write("/sys/fs/cgroup/hugetlb.2MB.max", "67108864\n");
    const Report report = broken.examine();
    REQUIRE_THAT(text_of(report, Id::cgroup_hugetlb_too_small), StartsWith("error "));
    REQUIRE_FALSE(has(report, Id::hugepages_too_few));
    REQUIRE(report.verdict.network == Network::nccl);
  }
  SECTION("version 2, by a group above, less what is used") {
    broken.files.write("/proc/self/cgroup", "0::/jobs/one\n");
    broken.files.write("/sys/fs/cgroup/jobs/one/hugetlb.2MB.max", "max\n");
    broken.files.write("/sys/fs/cgroup/jobs/hugetlb.2MB.max", "268435456\n");
    broken.files.write("/sys/fs/cgroup/jobs/hugetlb.2MB.current", "201326592\n");
    REQUIRE_THAT(text_of(broken.examine(), Id::cgroup_hugetlb_too_small),
                 Contains("64 MiB of the hugepages (/sys/fs/cgroup/jobs/hugetlb.2MB.max)"));
  }
  SECTION("version 1") {
    broken.files.write("/proc/self/cgroup", "7:cpu,hugetlb:/docker/x\n0::/\n");
    broken.files.write("/sys/fs/cgroup/hugetlb/docker/x/hugetlb.2MB.limit_in_bytes", "0\n");
    REQUIRE_THAT(text_of(broken.examine(), Id::cgroup_hugetlb_too_small), Contains("0 MiB of the hugepages"));
  }
  SECTION("none") {
    broken.files.write("/proc/self/cgroup", "7:hugetlb:/\n0::/\n");
    broken.files.write("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", "9223372036854771712\n");
    broken.files.write("/sys/fs/cgroup/hugetlb.2MB.max", "max\n");
    REQUIRE_FALSE(has(broken.examine(), Id::cgroup_hugetlb_too_small));
  }
}

TEST_CASE("each size of hugepages has its own limit") {
  BrokenHost broken;
  broken.files.write("/sys/fs/cgroup/hugetlb.1GB.rsvd.max", "1073741824\n");
  REQUIRE_FALSE(host::hugetlb_limit(broken.host.root, 2 * kMib));
  REQUIRE(host::hugetlb_limit(broken.host.root, 1024 * kMib)->bytes == 1024 * kMib);
}

TEST_CASE("a control group with less memory than the rails take is an error") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "memif"}};
  broken.files.write("/proc/self/cgroup", "4:memory:/\n");
  broken.files.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::cgroup_memory_too_small),
               Contains("allows 100 MiB of memory (/sys/fs/cgroup/memory/memory.limit_in_bytes), and tfabric "
                        "alone takes up to 125 MiB"));
  REQUIRE(report.verdict.network == Network::nccl);
}

TEST_CASE("VFIO needs a high limit of locked memory, or CAP_IPC_LOCK") {
  NicHost broken;
  broken.host.memlock_bytes = 8 * kMib;
  REQUIRE_FALSE(has(broken.examine(), Id::memlock_too_low));  // CAP_IPC_LOCK
  broken.set_capabilities("0000000000002000");
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::memlock_too_low),
      StartsWith("error locked memory: a process may lock 8192 KiB (ulimit -l), and VFIO locks 110 MiB") &&
          Contains("LimitMEMLOCK=infinity") && Contains("--ulimit memlock=-1:-1") && Contains("Kubernetes"));
  broken.host.memlock_bytes = 110 * kMib;
  REQUIRE_FALSE(has(broken.examine(), Id::memlock_too_low));
}
