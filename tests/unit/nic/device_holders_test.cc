#include "transport/tcp/nic/device_holders.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/host/fake_host.h"

using namespace tfabric;
using namespace tfabric::nic;

namespace {

// Two processes of high numbers, which this host does not have.
struct Proc {
  void open(const std::string& process, const std::string& descriptor, const std::string& file) const {
    const std::filesystem::path link = files.root() + "/proc/" + process + "/fd/" + descriptor;
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(file, link);
  }
  void set_namespace(const std::string& process, const std::string& name) const {
    const std::filesystem::path link = files.root() + "/proc/" + process + "/ns/net";
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(name, link);
  }
  test::FakeHost files;
};

}  // namespace

TEST_CASE("a file's holders are the processes that have it open, without this one") {
  Proc proc;
  proc.open("99999001", "3", "/dev/vfio/3");
  proc.open("99999002", "4", "/dev/vfio/33");
  proc.open("99999003", "5", "/dev/vfio/3");
  proc.open(std::to_string(getpid()), "5", "/dev/vfio/3");
  proc.files.write("/proc/sys/x", "");
  CHECK(holders_of_file("/dev/vfio/3", proc.files.root()) == "process 99999001 and process 99999003");
  CHECK(holders_of_file("/dev/vfio/4", proc.files.root()).empty());
}

TEST_CASE("a TAP's holder is found by the interface that its descriptor has, in the same network namespace") {
  Proc proc;
  for (const std::string process : {"99999001", "99999002", "99999003"}) {
    proc.open(process, "7", "/dev/net/tun");
    proc.set_namespace(process, process == "99999003" ? "net:[2]" : "net:[1]");
  }
  proc.set_namespace("thread-self", "net:[1]");
  proc.files.write("/proc/99999001/fdinfo/7", "pos:\t0\nflags:\t02\niff:\ttap1\n");
  proc.files.write("/proc/99999002/fdinfo/7", "pos:\t0\nflags:\t02\niff:\ttap12\n");
  proc.files.write("/proc/99999003/fdinfo/7", "pos:\t0\nflags:\t02\niff:\ttap1\n");
  CHECK(holders_of_tun("tap1", proc.files.root()) == "process 99999001");
  CHECK(holders_of_tun("tap2", proc.files.root()).empty());
}

TEST_CASE("the holder of a Unix socket is found by its path") {
  Proc proc;
  proc.files.write("/proc/net/unix",
                   "Num       RefCount Protocol Flags    Type St Inode Path\n"
                   "0000000000000000: 00000002 00000000 00010000 0005 01 4711 /run/memif.sock\n"
                   "0000000000000000: 00000002 00000000 00010000 0005 01 4712\n");
  proc.open("99999001", "3", "socket:[4711]");
  CHECK(holders_of_unix_socket("/run/memif.sock", proc.files.root()) == "process 99999001");
  CHECK(holders_of_unix_socket("/run/other.sock", proc.files.root()).empty());
}
