#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::run_setup;
using test::undo_setup;

namespace {

const std::string kUnsafe = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";

FakeKernel& without_iommu(FakeKernel& kernel) {
  for (const auto& [name, interface] : kernel.interfaces) {
    std::filesystem::remove(kernel.full("/sys/bus/pci/devices/" + interface.function + "/iommu_group"));
  }
  std::filesystem::remove_all(kernel.full("/sys/class/iommu"));
  return kernel;
}

}  // namespace

TEST_CASE("the plan warns if it is unknown by which NIC the host is reached") {
  constexpr auto kWarning = "WARNING: no NIC is known to be the one by which this host is reached";
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE_THAT(run_setup(kernel, {.verb = Request::Verb::dry_run}).out, !Contains(kWarning));
  for (auto& [name, interface] : kernel.interfaces) {
    std::erase_if(interface.routes, [](const Json& route) { return text_of(route, "dst") == "default"; });
  }
  REQUIRE_THAT(run_setup(kernel, {.verb = Request::Verb::dry_run}).out, Contains(kWarning));
}

TEST_CASE("without an IOMMU setup refuses, unless an option allows it") {
  FakeKernel kernel;
  kernel.add_cloud();
  without_iommu(kernel);
  const auto before = kernel.snapshot();
  const Ended refused = apply_setup(kernel);
  REQUIRE(refused.code == kNothing);
  REQUIRE_THAT(refused.err, Contains("--allow-no-iommu"));
  REQUIRE(kernel.changes == 0);

  SECTION("VFIO's own mode") {
    const Ended ended = apply_setup(kernel, {.allow_no_iommu = true});
    INFO(ended.out << ended.err);
    REQUIRE(ended.code == kOk);
    REQUIRE_THAT(ended.out, Contains("WARNING: vfio-pci without an IOMMU"));
    REQUIRE(kernel.read(kUnsafe) == "Y\n");
    REQUIRE(kernel.driver("0000:00:06.0") == "vfio-pci");
  }
  SECTION("uio_pci_generic, where VFIO was built without it") {
    kernel.vfio_without_iommu = false;
    REQUIRE(apply_setup(kernel, {.allow_no_iommu = true}).code == kOk);
    REQUIRE(kernel.driver("0000:00:06.0") == "uio_pci_generic");
  }
  SECTION("uio_pci_generic, where there is no VFIO") {
    kernel.modules = {"uio_pci_generic", "virtio-pci"};
    const Ended ended = apply_setup(kernel, {.allow_no_iommu = true});
    INFO(ended.out << ended.err);
    REQUIRE(ended.code == kOk);
    REQUIRE_THAT(ended.out, Contains("WARNING: uio_pci_generic"));
    REQUIRE(kernel.driver("0000:00:06.0") == "uio_pci_generic");
  }
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("an ENA without an IOMMU and VFIO's mode for that is warned of") {
  FakeKernel kernel;
  kernel.add_cloud();
  without_iommu(kernel);
  kernel.files.write("/sys/bus/pci/devices/0000:00:06.0/vendor", "0x1d0f\n");
  kernel.files.write("/sys/bus/pci/devices/0000:00:06.0/device", "0xec20\n");
  const Request request{.verb = Request::Verb::dry_run, .plan = {.allow_no_iommu = true}};
  REQUIRE_THAT(run_setup(kernel, request).out, !Contains("needs interrupts"));
  kernel.vfio_without_iommu = false;
  const std::string plan = run_setup(kernel, request).out;
  REQUIRE_THAT(plan, Contains("WARNING: 0000:00:06.0 is an ENA, whose driver needs interrupts"));
  REQUIRE_THAT(plan, !Contains("0000:00:07.0 is an ENA"));
}

TEST_CASE("a kernel without a driver for DPDK is an error") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.modules.clear();
  const Ended ended = apply_setup(kernel);
  REQUIRE(ended.code == kNothing);
  REQUIRE_THAT(ended.err, Contains("neither vfio-pci nor uio_pci_generic"));
}

TEST_CASE("the kernel's command line is changed by the host's own program, and restored") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.files.write("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
  const PlanOptions options{.ranks = 2, .kernel_command_line = true};
  SECTION("update-grub") {
    kernel.files.write("/usr/sbin/update-grub", "");
    const Ended ended = apply_setup(kernel, options);
    REQUIRE(ended.code == kOk);
    REQUIRE_THAT(ended.out, Contains("after the next reboot"));
    REQUIRE_THAT(*kernel.read("/etc/default/grub.d/90-tfabric-setup.cfg"),
                 EndsWith("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX hugepagesz=1G hugepages=2\"\n"));
    REQUIRE(kernel.calls.back() == "update-grub");
    REQUIRE_THAT(apply_setup(kernel, options).out, Contains("nothing was changed"));
    kernel.calls.clear();
    REQUIRE(undo_setup(kernel).code == kOk);
    REQUIRE(kernel.calls.front() == "update-grub");
    REQUIRE_FALSE(kernel.exists("/etc/default/grub.d"));
  }
  SECTION("update-grub, on a host that is too small for pages of 1 GiB") {
    kernel.files.write("/usr/sbin/update-grub", "");
    kernel.files.write("/proc/meminfo", "MemAvailable: 3145728 kB\n");
    REQUIRE(apply_setup(kernel, options).code == kOk);
    // The same number as the unit expects at boot, so that it does not reserve more.
    const std::string pages = *kernel.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
    REQUIRE_THAT(*kernel.read("/etc/default/grub.d/90-tfabric-setup.cfg"),
                 EndsWith("hugepagesz=2M hugepages=" + pages.substr(0, pages.size() - 1) + "\"\n"));
  }
  SECTION("grubby") {
    kernel.files.write("/usr/sbin/grubby", "");
    REQUIRE(apply_setup(kernel, options).code == kOk);
    REQUIRE(kernel.calls.back() == "grubby --update-kernel=ALL --args=hugepagesz=1G hugepages=2");
    REQUIRE_THAT(apply_setup(kernel, options).out, Contains("nothing was changed"));
    kernel.calls.clear();
    REQUIRE(undo_setup(kernel).code == kOk);
    REQUIRE(kernel.calls.front() == "grubby --update-kernel=ALL --remove-args=hugepagesz=1G hugepages=2");
  }
  SECTION("neither") {
    const Ended ended = apply_setup(kernel, options);
    REQUIRE(ended.code == kNothing);
    REQUIRE_THAT(ended.err, Contains("hugepagesz=1G hugepages=2"));
    REQUIRE(kernel.changes == 0);
  }
}

TEST_CASE("on a host without systemd the plan says what to run at boot") {
  FakeKernel kernel;
  kernel.add_cloud();
  std::filesystem::remove(kernel.full("/usr/lib/systemd/systemd"));
  REQUIRE_THAT(apply_setup(kernel).out, Contains("tfabric setup --boot"));
  REQUIRE_FALSE(kernel.exists("/etc/systemd/system/tfabric-setup.service"));
}
