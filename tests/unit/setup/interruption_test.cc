// SIGKILL at every change that setup makes: a further run finishes, and undo restores.
#include <catch2/catch.hpp>
#include <memory>

#include "tests/unit/setup/run_setup.h"

using namespace tfabric;
using namespace tfabric::setup;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::undo_setup;

namespace {

std::unique_ptr<FakeKernel> make_host() {
  auto kernel = std::make_unique<FakeKernel>();
  kernel->add_cloud();
  kernel->files.write("/usr/sbin/NetworkManager", "");
  kernel->active = {"NetworkManager"};
  kernel->program_path = "/home/alice/build/tfabric";
  kernel->files.write("/usr/sbin/update-grub", "");
  kernel->files.write("/usr/local/tfabric/tools/config/tfabric.toml", "required = true\n");
  return kernel;
}

const PlanOptions kOptions{.group = "users", .replace_config = true, .kernel_command_line = true};

// Returns true if it was killed, and not done before that change.
template <class Run>
bool kill_at(FakeKernel& kernel, int change, Run run) {
  kernel.killed_at = kernel.changes + change;
  bool killed = false;
  try {
    run();
  } catch (const test::Killed&) {
    killed = true;
  }
  kernel.killed_at = -1;
  return killed;
}

// The state of a host after an uninterrupted run.
test::Snapshot finished() {
  const auto kernel = make_host();
  REQUIRE(apply_setup(*kernel, kOptions).code == kOk);
  auto snapshot = kernel->snapshot();
  snapshot.erase("/var/lib/tfabric/setup.json");  // contains the folder of the simulated host
  return snapshot;
}

void require_undone(FakeKernel& kernel, const test::Snapshot& before) {
  const Ended undone = undo_setup(kernel);
  INFO(undone.out << undone.err);
  REQUIRE(undone.code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

}  // namespace

TEST_CASE("killed anywhere, setup is finished by a further run, and undone completely") {
  const std::size_t size = finished().size();
  int change = 0;
  for (bool killed = true; killed; ++change) {
    CAPTURE(change);
    const auto kernel = make_host();
    const auto before = kernel->snapshot();
    killed = kill_at(*kernel, change, [&] { apply_setup(*kernel, kOptions); });
    const Ended again = apply_setup(*kernel, kOptions);
    INFO(again.out << again.err);
    REQUIRE(again.code == kOk);
    auto now = kernel->snapshot();
    now.erase("/var/lib/tfabric/setup.json");
    REQUIRE(now.size() == size);
    REQUIRE(kernel->driver("0000:00:06.0") == "vfio-pci");
    REQUIRE(kernel->driver("0000:00:07.0") == "vfio-pci");
    require_undone(*kernel, before);
  }
  REQUIRE(change > 30);
}

TEST_CASE("killed anywhere, setup is undone without being finished") {
  int change = 0;
  for (bool killed = true; killed; ++change) {
    CAPTURE(change);
    const auto kernel = make_host();
    const auto before = kernel->snapshot();
    killed = kill_at(*kernel, change, [&] { apply_setup(*kernel, kOptions); });
    require_undone(*kernel, before);
  }
}

TEST_CASE("killed anywhere, undoing is finished by a further run, or setup is") {
  const bool set_up_again = GENERATE(true, false);
  CAPTURE(set_up_again);
  int change = 0;
  for (bool killed = true; killed; ++change) {
    CAPTURE(change);
    const auto kernel = make_host();
    const auto before = kernel->snapshot();
    REQUIRE(apply_setup(*kernel, kOptions).code == kOk);
    killed = kill_at(*kernel, change, [&] { undo_setup(*kernel); });
    if (set_up_again) {
      const Ended again = apply_setup(*kernel, kOptions);
      INFO(again.out << again.err);
      REQUIRE(again.code == kOk);
      REQUIRE(kernel->driver("0000:00:06.0") == "vfio-pci");
    }
    require_undone(*kernel, before);
  }
  REQUIRE(change > 30);
}
