// The Debian package, purged: what `tfabric setup` has written goes with it.
#include <catch2/catch.hpp>

#include "tests/unit/setup/run_setup.h"
#include "tools/setup/files.h"

using namespace tfabric;
using namespace tfabric::setup;
using test::apply_setup;
using test::FakeKernel;
using test::Snapshot;

namespace {

// A host on which setup writes every file that it knows of.
struct FurnishedHost {
  FurnishedHost() {
    kernel.add_cloud();
    kernel.files.write("/usr/sbin/NetworkManager", "");
    kernel.files.write("/usr/lib/systemd/systemd-networkd", "");
    kernel.files.write("/usr/sbin/update-grub", "");
    kernel.files.write(kConfigPath, "transport = \"rdma\"\n");
    before = files();
    const test::Ended ended =
        apply_setup(kernel, {.group = "users", .replace_config = true, .kernel_command_line = true});
    INFO(ended.out << ended.err);
    REQUIRE(ended.code == kOk);
  }

  // The files and links that outlive a start of the host, without folders.
  [[nodiscard]] Snapshot files() const {
    Snapshot all = kernel.snapshot();
    std::erase_if(all, [](const auto& entry) {
      const auto& [path, content] = entry;
      return content == "/" ||
             !(path.starts_with("/etc/") || path.starts_with("/usr/") || path.starts_with("/var/"));
    });
    return all;
  }

  [[nodiscard]] setup::Output run_script(const std::string& what) const {
    return Host().run({"env", "DPKG_ROOT=" + kernel.full(""), "sh",
                       std::string(TFABRIC_SOURCE_FOLDER) + "/packaging/debian/postrm", what});
  }

  FakeKernel kernel;
  Snapshot before;
};

}  // namespace

TEST_CASE("purged, the package takes every file of setup's along, and restores what they replaced") {
  const FurnishedHost host;
  REQUIRE(host.files().size() >= host.before.size() + 9);
  const setup::Output output = host.run_script("purge");
  INFO(output.out << output.err);
  REQUIRE(output.ok());
  REQUIRE(test::difference(host.before, host.files()) == "");
  REQUIRE_FALSE(host.kernel.exists("/var/lib/tfabric"));
  REQUIRE(host.run_script("purge").ok());
}

TEST_CASE("removed or upgraded, the package leaves setup's files") {
  const FurnishedHost host;
  const Snapshot after_setup = host.files();
  for (const std::string what : {"remove", "upgrade", "disappear"}) {
    REQUIRE(host.run_script(what).ok());
    REQUIRE(test::difference(after_setup, host.files()) == "");
  }
}

TEST_CASE("files that setup did not write survive a purge") {
  FakeKernel kernel;
  kernel.files.write(kConfigPath, "transport = \"tcp\"\n");
  kernel.files.write("/var/lib/tfabric/mine", "");
  const auto before = kernel.snapshot();
  REQUIRE(Host()
              .run({"env", "DPKG_ROOT=" + kernel.full(""), "sh",
                    std::string(TFABRIC_SOURCE_FOLDER) + "/packaging/debian/postrm", "purge"})
              .ok());
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}
