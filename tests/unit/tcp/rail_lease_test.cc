#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/temporary_folder.h"
#include "transport/rails/rail_share.h"

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;
using config::RailKind;
using Numbers = std::vector<std::size_t>;

namespace {

std::vector<config::Rail> pci_rails() {
  return {{.name = "eth0", .kind = RailKind::pci, .device = "0000:00:10.0"},
          {.name = "eth1", .kind = RailKind::pci, .device = "0000:00:11.0"}};
}

// A process that leases a share and keeps it until it is killed.
class Neighbour {
 public:
  Neighbour(const config::LockFolder& folder, const RailShare& share) {
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    process_ = fork();
    if (process_ == 0) {
      const auto leased = lease_rails(pci_rails(), share, folder, Duration::zero());
      const char told = leased.ok() ? static_cast<char>('0' + leased->front()) : 'x';
      if (write(pipes[1], &told, 1) < 0) {
        _exit(1);
      }
      pause();
    }
    REQUIRE(read(pipes[0], &told_, 1) == 1);
    close(pipes[0]);
    close(pipes[1]);
  }
  ~Neighbour() { end(); }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  void end() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
      process_ = 0;
    }
  }
  [[nodiscard]] char told() const { return told_; }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
  char told_ = 0;
};

}  // namespace

TEST_CASE("a killed rank frees its rail for its successor") {
  const test::TemporaryFolder parent;
  const auto folder = *config::LockFolder::parse(parent.path());
  const RailShare second{.rails = {1}, .any = 0, .why = "local rank 1 of 2 (LOCAL_RANK)"};
  Neighbour first_life(folder, second);
  REQUIRE(first_life.told() == '1');
  const auto refused = lease_rails(pci_rails(), second, folder, std::chrono::milliseconds(60));
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().code == Errc::unusable);
  REQUIRE_THAT(refused.error().message, Contains("rail eth1 (0000:00:11.0)") && Contains(second.why) &&
                                            Contains("process " + std::to_string(first_life.process())));
  first_life.end();
  Neighbour second_life(folder, second);
  REQUIRE(second_life.told() == '1');
}

TEST_CASE("without a rank the first free rail is taken, and the error names the holders of the others") {
  const test::TemporaryFolder parent;
  const auto folder = *config::LockFolder::parse(parent.path());
  const RailShare any{.rails = {0, 1}, .any = 1, .why = "no launcher tells the local rank"};
  Neighbour first(folder, any);
  Neighbour second(folder, any);
  REQUIRE(first.told() == '0');
  REQUIRE(second.told() == '1');
  const auto refused = lease_rails(pci_rails(), any, folder);
  REQUIRE_THAT(refused.error().message,
               Contains("0 of the 1 rail(s)") &&
                   Contains("rail eth0 (0000:00:10.0) by process " + std::to_string(first.process())) &&
                   Contains("rail eth1 (0000:00:11.0) by process " + std::to_string(second.process())));
  first.end();
  REQUIRE(*lease_rails(pci_rails(), any, folder) == Numbers{0});
  // Once more in the same process, as when NCCL is initialised anew.
  REQUIRE(*lease_rails(pci_rails(), any, folder) == Numbers{0});
}

TEST_CASE("a lease of no rails needs no folder, and a folder that cannot be used is reported") {
  const auto nowhere = *config::LockFolder::parse("/nowhere/locks");
  REQUIRE(lease_rails(pci_rails(), {}, nowhere)->empty());
  const auto refused = lease_rails(pci_rails(), {.rails = {0}, .any = 0, .why = ""}, nowhere);
  REQUIRE(refused.error().code == Errc::unusable);
  REQUIRE_THAT(refused.error().message, Contains("/nowhere/locks"));
}

TEST_CASE("both ends of a wire have leases of their own; an interface has one, whatever the kind of rail") {
  config::Rail rail{.name = "m", .kind = RailKind::memif, .device = "/run/m.sock"};
  const std::string client = lease_name(rail);
  rail.role = config::MemifRole::server;
  REQUIRE(lease_name(rail) != client);
  rail.kind = RailKind::vhost;
  const std::string vhost = lease_name(rail);
  rail.kind = RailKind::virtio_user;
  REQUIRE(lease_name(rail) != vhost);
  REQUIRE(lease_name({.name = "x", .kind = RailKind::af_packet, .device = "eth0"}) ==
          lease_name({.name = "y", .kind = RailKind::tap, .device = "eth0"}));
  REQUIRE(lease_name({.name = "x", .kind = RailKind::af_packet, .device = "eth0"}) ==
          lease_name({.name = "y", .kind = RailKind::af_xdp, .device = "eth0"}));
}
