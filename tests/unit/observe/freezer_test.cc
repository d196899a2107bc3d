// Over a tree of files like the kernel's; the kernel's own: tests/rails/verdicts.
#include "observe/freezer.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

using namespace tfabric::observe;

namespace {

struct Kernel {
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder.path() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] bool frozen() const {
    return is_frozen(folder.path() + "/proc/7", folder.path() + "/cgroup");
  }

  tfabric::test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a process in a group of version 2 is frozen if its group says so") {
  const std::string mount = GENERATE("cgroup", "cgroup/unified");
  const Kernel kernel;
  REQUIRE_FALSE(kernel.frozen());
  kernel.write("proc/7/cgroup", "0::/job/step one\n");
  REQUIRE_FALSE(kernel.frozen());
  kernel.write(mount + "/job/step one/cgroup.events", "populated 1\nfrozen 0\n");
  REQUIRE_FALSE(kernel.frozen());
  kernel.write(mount + "/job/step one/cgroup.events", "populated 1\nfrozen 1\n");
  REQUIRE(kernel.frozen());
}

TEST_CASE("a process in a group of version 1 is frozen if its freezer's group says so") {
  const Kernel kernel;
  kernel.write("proc/7/cgroup", "9:memory:/frozen\n4:cpu,freezer:/job\n1:name=systemd:/\n0::/\n");
  kernel.write("cgroup/freezer/job/freezer.state", "THAWED\n");
  kernel.write("cgroup/freezer/frozen/freezer.state", "FROZEN\n");
  REQUIRE_FALSE(kernel.frozen());
  kernel.write("cgroup/freezer/job/freezer.state", "FROZEN\n");
  REQUIRE(kernel.frozen());
}
