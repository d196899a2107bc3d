// `tfabric setup --group`: jobs of ordinary users.
#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::run_setup;
using test::undo_setup;
using Verb = Request::Verb;

namespace {

const FileAccess kForUsers{.group = "users", .mode = 0660};

}  // namespace

TEST_CASE("a group's users get VFIO's files and locked memory, also after a reboot, until undo") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Ended ended = apply_setup(kernel, {.group = "users"});
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == kOk);
  REQUIRE(kernel.access_of("/dev/vfio/6") == kForUsers);
  REQUIRE(kernel.access_of("/dev/vfio/7") == kForUsers);
  REQUIRE_THAT(*kernel.read("/etc/udev/rules.d/90-tfabric-setup.rules"),
               Contains("SUBSYSTEM==\"vfio\"") && Contains("GROUP=\"users\""));
  REQUIRE_THAT(*kernel.read("/etc/security/limits.d/90-tfabric-setup.conf"),
               Contains("@users - memlock unlimited\n"));
  REQUIRE_THAT(apply_setup(kernel, {.group = "users"}).out, Contains("nothing was changed"));

  kernel.reboot();
  REQUIRE(run_setup(kernel, {.verb = Verb::boot}).code == kOk);
  REQUIRE(kernel.access_of("/dev/vfio/7") == kForUsers);

  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE_FALSE(kernel.exists("/etc/udev"));
  REQUIRE_FALSE(kernel.exists("/etc/security"));
}

TEST_CASE("a group may be named later, and another one in its place") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.groups.insert("jobs");
  const auto before = kernel.snapshot();
  REQUIRE(apply_setup(kernel).code == kOk);
  REQUIRE(apply_setup(kernel, {.group = "users"}).code == kOk);
  REQUIRE(apply_setup(kernel, {.group = "jobs"}).code == kOk);
  REQUIRE(kernel.access_of("/dev/vfio/6")->group == "jobs");
  REQUIRE_THAT(*kernel.read("/etc/security/limits.d/90-tfabric-setup.conf"), Contains("@jobs"));
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("a group that does not exist, or a host without an IOMMU, is refused before anything is changed") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Ended unknown = apply_setup(kernel, {.group = "jobs"});
  REQUIRE(unknown.code == kUsage);
  REQUIRE_THAT(unknown.err, Contains("groupadd jobs"));
  kernel.modules = {"uio_pci_generic", "virtio-pci"};
  const Ended unprotected = apply_setup(kernel, {.group = "users", .allow_no_iommu = true});
  REQUIRE(unprotected.code == kUsage);
  REQUIRE_THAT(unprotected.err, Contains("--group needs an IOMMU"));
  REQUIRE(kernel.changes == 0);
}
