#include <array>
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/version.h"
#include "config/config.h"
#include "tests/unit/setup/run_setup.h"
#include "tools/setup/files.h"
#include "tools/setup/journal.h"
#include "tools/setup/json.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using test::apply_setup;
using test::Ended;
using test::FakeKernel;
using test::run_setup;
using test::undo_setup;
using Verb = Request::Verb;

namespace {

const std::string kFirst = "0000:00:06.0", kSecond = "0000:00:07.0", kManagement = "0000:00:03.0";

std::vector<config::Rail> configured_rails(const FakeKernel& kernel) {
  const std::array<std::string, 1> files{kernel.full(kConfigPath)};
  const auto config = config::load({}, files);
  if (!config) {
    FAIL(config.error().message);
  }
  return config->tcp.rails;
}

}  // namespace

TEST_CASE("setup gives the ENIs to user space and writes a configuration that loads") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Ended ended = apply_setup(kernel);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == kOk);
  REQUIRE_THAT(ended.out, EndsWith("setup successfully\n"));
  REQUIRE(kernel.driver(kFirst) == "vfio-pci");
  REQUIRE(kernel.driver(kSecond) == "vfio-pci");
  REQUIRE(kernel.driver(kManagement) == "virtio-pci");
  REQUIRE(kernel.interfaces.contains("ens3"));

  const auto rails = configured_rails(kernel);
  REQUIRE(rails.size() == 2);
  REQUIRE(rails[0].name == "ens6");
  REQUIRE(rails[0].device == kFirst);
  REQUIRE(rails[0].addresses == std::vector<std::string>{"10.0.1.5/24", "fd00:1::5/64", "fd00:1::6/64"});
  REQUIRE(rails[0].gateway == "10.0.1.1");
  REQUIRE(rails[0].gateway6 == "fe80::1");
  REQUIRE(rails[0].mtu == 9001);
  REQUIRE(rails[0].numa_node == 0);
  REQUIRE(rails[1].gateway == "10.0.2.1");
}

TEST_CASE("a rail has the speed that its driver reported, and a hint where it reported none") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.files.write("/sys/class/net/ens6/speed", "100000\n");
  kernel.files.write("/sys/class/net/ens7/speed", GENERATE("-1\n", "65535\n", "4294967295\n"));
  REQUIRE(apply_setup(kernel).code == kOk);
  const auto rails = configured_rails(kernel);
  REQUIRE(rails.size() == 2);
  CHECK(rails[0].speed_mbps == 100000);
  CHECK(rails[1].speed_mbps == 0);
  CHECK_THAT(kernel.read("/usr/local/tfabric/tools/config/tfabric.toml").value_or(""),
             Contains("# speed_mbps = 25000  # This NIC reports none, and NCCL assumes 10000"));
}

TEST_CASE("undone, the host is as it was, network included") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.files.write("/usr/sbin/NetworkManager", "");
  kernel.files.write("/usr/lib/systemd/systemd-networkd", "");
  const auto before = kernel.snapshot();
  REQUIRE(apply_setup(kernel).code == kOk);
  REQUIRE(kernel.snapshot() != before);
  const Ended ended = undo_setup(kernel);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
  REQUIRE_THAT(undo_setup(kernel).out, Contains("nothing to undo"));
}

TEST_CASE("NICs of one network each get their own routes back") {
  FakeKernel kernel;
  kernel.add_cloud();
  FakeKernel::Interface& second = kernel.interfaces.at("ens7");
  FakeKernel::add_address(second, "10.0.1.6", 24);
  FakeKernel::add_direct_route(second, "10.0.1.6");
  const auto before = kernel.snapshot();
  REQUIRE(apply_setup(kernel).code == kOk);
  const Ended ended = undo_setup(kernel);
  INFO(ended.out << ended.err);
  REQUIRE(ended.code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("what a network manager removes as it releases a NIC is restored") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.files.write("/usr/sbin/NetworkManager", "");
  kernel.active = {"NetworkManager"};
  const auto before = kernel.snapshot();
  SECTION("after undo") {
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(undo_setup(kernel).code == kOk);
  }
  SECTION("after undo of a run that has failed with the first NIC") {
    kernel.refusing = {"vfio-pci"};
    REQUIRE(apply_setup(kernel).code == kFailed);
    REQUIRE(undo_setup(kernel).code == kOk);
  }
  SECTION("after a run that has failed, and another") {
    kernel.refusing = {"vfio-pci"};
    REQUIRE(apply_setup(kernel).code == kFailed);
    kernel.refusing = {};
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.driver("0000:00:07.0") == "vfio-pci");
    REQUIRE(undo_setup(kernel).code == kOk);
  }
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("a second run says that everything is set up already and changes nothing") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  const auto before = kernel.snapshot();
  const int changes = kernel.changes;
  const Ended again = run_setup(kernel, {});  // needs no consent, as there is nothing to do
  INFO(again.out << again.err);
  REQUIRE(again.code == kOk);
  REQUIRE_THAT(again.out, Contains("nothing was changed") && EndsWith("setup successfully\n"));
  REQUIRE(kernel.changes == changes);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("nothing is done without consent") {
  FakeKernel kernel;
  kernel.add_cloud();
  const auto before = kernel.snapshot();
  SECTION("there is no terminal to ask") {
    const Ended ended = run_setup(kernel, {});
    REQUIRE(ended.code == kUsage);
    REQUIRE_THAT(ended.err, Contains("--yes"));
  }
  SECTION("the answer is no") { REQUIRE(run_setup(kernel, {}, false).code == kUsage); }
  SECTION("only the plan is wanted") {
    const Ended ended = run_setup(kernel, {.verb = Verb::dry_run});
    REQUIRE(ended.code == kOk);
    REQUIRE_THAT(ended.out, Contains("bind 0000:00:06.0 (ens6) to vfio-pci") &&
                                Contains("0000:00:03.0 (ens3) has the default route of IPv4"));
    REQUIRE_THAT(ended.out, !Contains("setup successfully"));
  }
  REQUIRE(kernel.changes == 0);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("with consent at the terminal the plan is carried out") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(run_setup(kernel, {}, true).code == kOk);
  REQUIRE(kernel.driver(kFirst) == "vfio-pci");
}

TEST_CASE("NICs that are bound and do not work are an error, at a second run as well") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.nic_fault = "rail eth1: cannot set up the transmit queue of 0000:00:06.0: Invalid argument";
  for (const std::string said : {"done", "Everything is set up already"}) {
    const Ended ended = apply_setup(kernel);
    CHECK(ended.code == kFailed);
    CHECK_THAT(ended.out, Contains(said) && !Contains("setup successfully"));
    CHECK_THAT(ended.err, Contains("do not work: " + kernel.nic_fault));
  }
  CHECK(run_setup(kernel, {.yes = true, .no_trial = true}).code == kOk);
  kernel.nic_fault.clear();
  const Ended ended = apply_setup(kernel);
  CHECK(ended.code == kOk);
  CHECK_THAT(ended.out, Contains("tried   the NICs: opened") && EndsWith("setup successfully\n"));
}

TEST_CASE("a NIC that the driver does not accept is given back to the kernel at once") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.refusing = {"vfio-pci"};
  const auto network = kernel.snapshot()["addresses"];
  const Ended ended = apply_setup(kernel);
  REQUIRE(ended.code == kFailed);
  REQUIRE_THAT(ended.out, Contains("failed  bind 0000:00:06.0"));
  REQUIRE(kernel.driver(kFirst) == "virtio-pci");
  REQUIRE(kernel.snapshot()["addresses"] == network);
}

TEST_CASE("a configuration that setup did not write is kept") {
  FakeKernel kernel;
  kernel.add_cloud();
  const std::string own = "transport = \"tcp\"\n[[tcp.rails]]\nkind = \"memif\"\n";
  kernel.files.write(kConfigPath, own);
  const auto before = kernel.snapshot();
  const Ended refused = apply_setup(kernel);
  REQUIRE(refused.code == kUsage);
  REQUIRE_THAT(refused.err, Contains("--replace-config"));
  REQUIRE(test::difference(before, kernel.snapshot()) == "");

  REQUIRE(apply_setup(kernel, {.replace_config = true}).code == kOk);
  REQUIRE(configured_rails(kernel).size() == 2);
  REQUIRE(kernel.read(kConfigPath + ".before-tfabric-setup") == own);
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("keys that the administrator adds stay, and undo keeps an edited file aside") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  const std::string edited = "required = true\n" + *kernel.read(kConfigPath);
  kernel.files.write(kConfigPath, edited);
  REQUIRE_THAT(apply_setup(kernel).out, Contains("nothing was changed"));
  REQUIRE(kernel.read(kConfigPath) == edited);
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE_FALSE(kernel.exists(kConfigPath));
  REQUIRE(kernel.read(kConfigPath + ".edited") == edited);
}

TEST_CASE("a later run takes another NIC, and undo gives back all") {
  FakeKernel kernel;
  kernel.add_cloud();
  const auto before = kernel.snapshot();
  REQUIRE(apply_setup(kernel, {.nics = {"ens7"}}).code == kOk);
  REQUIRE(kernel.driver(kFirst) == "virtio-pci");
  REQUIRE(configured_rails(kernel).size() == 1);
  REQUIRE(apply_setup(kernel, {.nics = {kFirst}}).code == kOk);
  REQUIRE(configured_rails(kernel).size() == 2);
  const Ended excluded = apply_setup(kernel, {.exclude = {"ens7"}});
  REQUIRE(excluded.code == kUsage);
  REQUIRE_THAT(excluded.err, Contains("--undo"));
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(test::difference(before, kernel.snapshot()) == "");
}

TEST_CASE("after a reboot the unit repeats the steps that a reboot undoes") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  const std::string pages = *kernel.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  kernel.reboot();
  REQUIRE(kernel.driver(kFirst) == "virtio-pci");
  const Ended boot = run_setup(kernel, {.verb = Verb::boot});
  INFO(boot.out << boot.err);
  REQUIRE(boot.code == kOk);
  REQUIRE(kernel.driver(kFirst) == "vfio-pci");
  REQUIRE(kernel.driver(kSecond) == "vfio-pci");
  REQUIRE(kernel.driver(kManagement) == "virtio-pci");
  REQUIRE(kernel.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") == pages);
  const int changes = kernel.changes;
  REQUIRE(run_setup(kernel, {.verb = Verb::boot}).code == kOk);
  REQUIRE(kernel.changes == changes);
}

TEST_CASE("after a reboot another NIC at a recorded address is left alone, and the others are taken") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  kernel.reboot();
  for (const auto& [name, interface] : kernel.interfaces) {
    if (interface.function == kFirst) {
      kernel.files.write("/sys/class/net/" + name + "/address", "52:54:00:ff:ff:ff\n");
    }
  }
  const Ended boot = run_setup(kernel, {.verb = Verb::boot});
  REQUIRE(boot.code == kFailed);
  REQUIRE_THAT(boot.err, Contains("MAC 52:54:00:ff:ff:ff"));
  REQUIRE(kernel.driver(kFirst) == "virtio-pci");
  REQUIRE(kernel.driver(kSecond) == "vfio-pci");
}

TEST_CASE("at boot without a journal nothing is done") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(run_setup(kernel, {.verb = Verb::boot}).code == kOk);
  REQUIRE(kernel.changes == 0);
}

TEST_CASE("network managers that are installed are configured to leave the ENIs alone") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.files.write("/usr/sbin/NetworkManager", "");
  kernel.files.write("/usr/lib/systemd/systemd-networkd", "");
  kernel.active = {"NetworkManager"};
  REQUIRE(apply_setup(kernel).code == kOk);
  REQUIRE_THAT(*kernel.read("/etc/NetworkManager/conf.d/90-tfabric-setup.conf"),
               EndsWith("[keyfile]\nunmanaged-devices+=mac:52:54:00:00:00:02;mac:52:54:00:00:00:03\n"));
  REQUIRE_THAT(
      *kernel.read("/etc/systemd/network/00-tfabric-setup.network"),
      EndsWith("[Match]\nMACAddress=52:54:00:00:00:02 52:54:00:00:00:03\n\n[Link]\nUnmanaged=yes\n"));
  REQUIRE(kernel.calls == std::vector<std::string>{"nmcli general reload conf", "systemctl daemon-reload"});
}

TEST_CASE("the unit runs the installed program and is enabled") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  const std::string unit = *kernel.read("/etc/systemd/system/tfabric-setup.service");
  REQUIRE_THAT(unit, Contains("Before=network-pre.target") &&
                         Contains("ExecStart=\"/usr/bin/tfabric\" setup --boot\n"));
  REQUIRE_FALSE(kernel.exists("/usr/local/lib/tfabric"));
  REQUIRE(kernel.read_link("/etc/systemd/system/multi-user.target.wants/tfabric-setup.service") ==
          "/etc/systemd/system/tfabric-setup.service");
}

TEST_CASE("of a program that is not installed, the unit runs a copy that only root can replace") {
  const std::string copy = "/usr/local/lib/tfabric/tfabric";
  for (const std::string path : {"/home/alice/build/tfabric", "/usr/bin/tfabric (deleted)", ""}) {
    CAPTURE(path);
    FakeKernel kernel;
    kernel.add_cloud();
    kernel.program_path = path;
    const auto before = kernel.snapshot();
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE_THAT(*kernel.read("/etc/systemd/system/tfabric-setup.service"),
                 Contains("ExecStart=\"" + copy + "\" setup --boot\n"));
    REQUIRE(kernel.read(copy) == "the program");
    // A later version replaces it.
    kernel.files.write(copy, "an older program");
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(kernel.read(copy) == "the program");
    REQUIRE(undo_setup(kernel).code == kOk);
    REQUIRE(test::difference(before, kernel.snapshot()) == "");
  }
}

TEST_CASE("a stranger's file in place of the unit's program is not run") {
  FakeKernel kernel;
  kernel.add_cloud();
  kernel.program_path = "/home/alice/build/tfabric";
  kernel.files.write("/usr/local/lib/tfabric/tfabric", "another program");
  const Ended ended = apply_setup(kernel);
  REQUIRE(ended.code == kFailed);
  REQUIRE_THAT(ended.err + ended.out,
               Contains("/usr/local/lib/tfabric/tfabric exists and was not made by setup"));
}

TEST_CASE("a NIC that a process uses is not taken away from it") {
  FakeKernel kernel;
  kernel.add_cloud();
  REQUIRE(apply_setup(kernel).code == kOk);
  std::filesystem::create_directories(kernel.full("/proc/77/fd"));
  std::filesystem::create_symlink("/dev/vfio/6", kernel.full("/proc/77/fd/5"));
  kernel.files.write("/proc/77/comm", "python3\n");
  const Ended ended = undo_setup(kernel);
  REQUIRE(ended.code == kFailed);
  REQUIRE_THAT(ended.err, Contains("process 77 (python3) uses 0000:00:06.0"));
  REQUIRE(kernel.driver(kFirst) == "vfio-pci");
  REQUIRE(kernel.driver(kSecond) == "virtio-pci");
  std::filesystem::remove_all(kernel.full("/proc/77"));
  REQUIRE(undo_setup(kernel).code == kOk);
  REQUIRE(kernel.driver(kFirst) == "virtio-pci");
}

TEST_CASE("a damaged journal is not overwritten") {
  FakeKernel kernel;
  kernel.add_cloud();
  for (const std::string text :
       {"", "{", "[]", R"({"version": 9, "steps": []})", R"({"version": 1, "steps": [{}]})"}) {
    CAPTURE(text);
    kernel.files.write("/var/lib/tfabric/setup.json", text);
    const Ended ended = apply_setup(kernel);
    REQUIRE(ended.code == kNothing);
    REQUIRE_THAT(ended.err, Contains("/var/lib/tfabric/setup.json"));
    REQUIRE(kernel.changes == 0);
  }
}

TEST_CASE("two runs at once are refused") {
  FakeKernel kernel;
  kernel.add_cloud();
  const auto held = Lock::take(kernel.full("/run/tfabric-setup.lock"));
  REQUIRE(held);
  const Ended ended = apply_setup(kernel);
  REQUIRE(ended.code == kFailed);
  REQUIRE_THAT(ended.err, Contains("another `tfabric setup` runs"));
  REQUIRE(kernel.changes == 0);
}

TEST_CASE("with --json, standard output is JSON alone") {
  FakeKernel kernel;
  kernel.add_cloud();
  const Ended ended = run_setup(kernel, {.yes = true, .json = true});
  REQUIRE(ended.code == kOk);
  const auto json = parse_json(ended.out);
  REQUIRE(json);
  REQUIRE(text_of(*json, "version") == version());
  REQUIRE(text_of(*json, "result") == "ok");
  REQUIRE(array_of(*json, "nics").size() == 2);
  REQUIRE(array_of(*json, "left_alone").size() == 1);
  REQUIRE(array_of(*json, "outcomes").size() == array_of(*json, "steps").size());
  REQUIRE_THAT(ended.err, Contains("setup successfully"));
}

TEST_CASE("a host whose only NIC is protected is an error") {
  FakeKernel kernel;
  auto& only = kernel.add_nic("0000:00:03.0", "ens3", 1);
  FakeKernel::add_address(only, "192.168.0.2", 24);
  FakeKernel::add_route(only, {{"dst", "default"}, {"gateway", "192.168.0.1"}});
  REQUIRE(apply_setup(kernel).code == kNothing);
  REQUIRE(kernel.changes == 0);
}

TEST_CASE("the folder of pages is for all users; it stays while there are pages, or where it was before") {
  FakeKernel kernel;
  kernel.add_cloud();
  SECTION("setup's own") {
    REQUIRE(apply_setup(kernel).code == kOk);
    CHECK(kernel.access_of("/run/tfabric")->mode == 01777);
    kernel.files.write("/run/tfabric/h-1-0000000000000001.tfabric", "");
    REQUIRE(undo_setup(kernel).code == kOk);
    CHECK(kernel.exists("/run/tfabric/h-1-0000000000000001.tfabric"));
  }
  SECTION("the package's") {
    kernel.files.write("/run/tfabric/h-1-0000000000000001.tfabric", "");
    REQUIRE(kernel.remove("/run/tfabric/h-1-0000000000000001.tfabric").ok());
    const auto before = kernel.snapshot();
    REQUIRE(apply_setup(kernel).code == kOk);
    REQUIRE(undo_setup(kernel).code == kOk);
    CHECK(test::difference(before, kernel.snapshot()) == "");
  }
}
