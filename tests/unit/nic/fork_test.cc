// Children that a process leaves: what DPDK has opened ends with the process all the same.
//
// A program of its own, because EAL must not be running when the first descriptors are counted.
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fork_guard.h"
#include "host/process_lock.h"
#include "tests/temporary_folder.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/nic/own_namespace.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/device_holders.h"
#include "transport/tcp/nic/packet_socket.h"
#include "transport/tcp/nic/port.h"
#include "transport/tcp/nic/wire_sockets.h"
#include "transport/tcp/nic/xdp/redirect.h"

extern char** environ;

namespace tfabric::nic {
namespace {

constexpr const char* kTap = "tfork0";

std::set<int> descriptors() {
  std::set<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    numbers.insert(std::stoi(entry.path().filename()));
  }
  std::erase_if(numbers, [](int number) { return fcntl(number, F_GETFD) < 0; });  // of the iterator
  return numbers;
}

std::string target_of(int descriptor) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), none).string();
}

bool has_af_xdp() { return xdp::Redirect::attach("lo", 1).ok(); }

std::vector<std::unique_ptr<Port>> open(const std::string& device, std::uint16_t queues = 1) {
  auto ports = Port::open_queues({.name = "rail", .device = device, .mtu = 1500, .rx_buffers = 4096}, queues);
  INFO(device << (ports ? "" : ": " + ports.error().message));
  REQUIRE(ports.ok());
  return std::move(*ports);
}

// Runs `child` in a forked process and returns its exit status.
int in_child(const std::function<int()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    _exit(child());
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool eventually(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return done();
}

// Sockets of the kernel's TCP/IP and of netlink, and BPF maps, keep nothing of a rail.
bool keeps_nothing(int descriptor) {
  int domain = -1;
  socklen_t size = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0) {
    return domain == AF_INET || domain == AF_NETLINK;
  }
  return target_of(descriptor).find("bpf-map") != std::string::npos;
}

}  // namespace

TEST_CASE("what is opened for rails is closed by exec, and no forked child has it", "[native]") {
  const std::set<int> before = descriptors();
  const test::TemporaryFolder folder;
  need_eal();
  in_own_namespace([&] {
    std::vector<std::vector<std::unique_ptr<Port>>> ports;
    auto sockets = open_packet_sockets({.interface = "lo", .filter = PacketFilter{}}, 2);
    REQUIRE(sockets.ok());
    auto packet_ports = Port::open_queues({.name = "rail", .device = {}, .pipes = std::move(*sockets)}, 2);
    REQUIRE(packet_ports.ok());
    ports.push_back(std::move(*packet_ports));
    ports.push_back(open(tap_arguments(kTap)));
    ports.push_back(open(memif_arguments({.socket = folder.path("memif"), .server = true})));
    ports.push_back(open(vhost_arguments(folder.path("vhost"))));
    if (has_af_xdp()) {
      ports.push_back(open(af_xdp_arguments("lo", 0, 1)));
    }
    std::vector<int> opened;
    for (const int descriptor : descriptors()) {
      if (before.contains(descriptor)) {
        continue;
      }
      INFO(descriptor << " is " << target_of(descriptor));
      CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
      if (!keeps_nothing(descriptor)) {
        opened.push_back(descriptor);
      }
    }
    CHECK(opened.size() > 10);
    // The first that is there.
    const int kept = in_child([&] {
      const auto open_there = [](int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; };
      const auto found = std::find_if(opened.begin(), opened.end(), open_there);
      return found == opened.end() ? 0 : *found;
    });
    INFO("a child has " << kept << ", which is " << target_of(kept));
    CHECK(kept == 0);
    CHECK(in_child([] {
            std::ifstream maps("/proc/self/maps");
            int shared = 0;
            for (std::string line; std::getline(maps, line);) {
              const bool of_dpdk =
                  line.find("memfd:") != std::string::npos || line.find("socket:") != std::string::npos;
              shared += of_dpdk ? 1 : 0;
            }
            return shared;
          }) == 0);
    // The parent has all of it.
    for (const int descriptor : opened) {
      CHECK(fcntl(descriptor, F_GETFD) >= 0);
    }
  });
}

TEST_CASE("a descriptor that is closed is forgotten: a child keeps the file that gets its number next") {
  int first = -1;
  {
    const PrivateDescriptor owned(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    first = owned.get();
    REQUIRE(first >= 0);
    CHECK(in_child([&] { return fcntl(first, F_GETFD) < 0 ? 0 : 1; }) == 0);
  }
  const Descriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(next.get() == first);
  CHECK(in_child([&] { return fcntl(first, F_GETFD) < 0 ? 1 : 0; }) == 0);
}

TEST_CASE("a child that ends in order harms neither itself nor its parent") {
  need_eal();
  const test::TemporaryFolder folder;
  auto port = open(memif_arguments({.socket = folder.path("memif"), .server = true}));
  const pid_t pid = fork();
  if (pid == 0) {
    std::exit(0);  // with the destructors of all libraries
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  rte_mbuf* packet = port.front()->allocate_header();
  CHECK(packet != nullptr);
}

namespace {

// A process that has a device, and has forked a child that lives on.
class Rank {
 public:
  explicit Rank(const std::string& device) {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    const Descriptor out(ends[0]);
    Descriptor in(ends[1]);
    REQUIRE(setenv("TFABRIC_FORK_TEST", device.c_str(), 1) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
    std::string program = "/proc/self/exe", test = "[rank]";
    std::array<char*, 3> words{program.data(), test.data(), nullptr};
    REQUIRE(posix_spawn(&pid_, program.c_str(), &actions, nullptr, words.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in.release());
    REQUIRE(read(out.get(), &child_, sizeof child_) == sizeof child_);
  }
  ~Rank() {
    end();
    if (child_ > 0) {
      kill(child_, SIGKILL);
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // Kills the process, but not its child.
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  // As an error names it.
  [[nodiscard]] std::string name() const { return host::describe_process(pid_); }
  [[nodiscard]] bool child_lives() const { return kill(child_, 0) == 0; }

 private:
  pid_t pid_ = -1, child_ = -1;
};

}  // namespace

TEST_CASE("the rank", "[.][rank]") {
  const char* const device = std::getenv("TFABRIC_FORK_TEST");
  if (device == nullptr) {
    WARN("skipped: the next test starts it");
    return;
  }
  need_eal();
  const auto ports = open(device);
  if (fork() == 0) {
    // The child says who it is, because it has closed what it must not keep only once fork() has returned
    // here.
    alarm(120);
    const pid_t self = getpid();
    static_cast<void>(!write(STDIN_FILENO, &self, sizeof self));
    for (;;) {
      pause();
    }
  }
  for (;;) {
    pause();
  }
}

TEST_CASE("a killed rank's rails are free at once, although its children live", "[native]") {
  const test::TemporaryFolder folder;
  const std::string memif = folder.path("memif");
  {
    Rank rank(memif_arguments({.socket = memif, .server = true}));
    REQUIRE(await_memif_server(memif, {}).ok());
    CHECK(holders_of_unix_socket(memif) == rank.name());
    const Status refused = free_memif_socket(memif);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("(" + rank.name() + " has it)") != std::string::npos);
    rank.end();
    REQUIRE(rank.child_lives());
    CHECK_FALSE(await_memif_server(memif, {}).ok());
  }
  in_own_namespace([] {
    {
      Rank rank(tap_arguments(kTap));
      REQUIRE(if_nametoindex(kTap) != 0);
      CHECK(holders_of_tun(kTap) == rank.name());
      rank.end();
      REQUIRE(rank.child_lives());
      CHECK(eventually([] { return if_nametoindex(kTap) == 0; }));
    }
    if (!has_af_xdp()) {
      WARN("skipped: AF_XDP cannot be used here");
      return;
    }
    Rank rank(af_xdp_arguments("lo", 0, 1));
    const std::string holders = holders_of_xdp_queue(if_nametoindex("lo"), 0);
    CHECK((holders.empty() || holders == rank.name()));  // empty where the kernel does not tell
    rank.end();
    REQUIRE(rank.child_lives());
    need_eal();
    open(af_xdp_arguments("lo", 0, 1));
  });
}

}  // namespace tfabric::nic
