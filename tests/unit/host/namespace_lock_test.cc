#include "host/namespace_lock.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "base/unix_socket.h"

using namespace tfabric;
using namespace tfabric::host;

namespace {

// Of this run alone.
std::string name_of(const std::string& what) { return "test " + std::to_string(getpid()) + " " + what; }

}  // namespace

TEST_CASE("a lock of the network namespace is one process's until that ends, and the kernel says whose") {
  const std::string name = name_of("rail");
  std::array<int, 2> pipes{};
  REQUIRE(pipe(pipes.data()) == 0);
  const pid_t other = fork();
  if (other == 0) {
    const auto taken = NamespaceLock::take(name);
    const char got = taken.ok() && taken->lock ? 'y' : 'n';
    if (write(pipes[1], &got, 1) == 1) {
      pause();
    }
    _exit(0);
  }
  char got = 0;
  REQUIRE(read(pipes[0], &got, 1) == 1);
  REQUIRE(got == 'y');
  const auto taken = NamespaceLock::take(name);
  REQUIRE(taken.ok());
  CHECK_FALSE(taken->lock);
  CHECK(taken->owner.process == other);
  CHECK(taken->owner.user == geteuid());
  CHECK(is_trusted(taken->owner));
  CHECK(NamespaceLock::take(name, &taken->owner)->owner.process == other);
  CHECK(NamespaceLock::owner(name)->process == other);
  CHECK_FALSE(NamespaceLock::owner(name_of("a free one")));
  CHECK(describe(taken->owner).find("process " + std::to_string(other)) == 0);
  REQUIRE(NamespaceLock::take(name_of("another rail"))->lock);
  REQUIRE(kill(other, SIGKILL) == 0);
  REQUIRE(waitpid(other, nullptr, 0) == other);
  CHECK(NamespaceLock::take(name)->lock);
  close(pipes[0]);
  close(pipes[1]);
}

TEST_CASE("names that are too long for a socket are told apart") {
  const std::string start(200, 'x');
  const auto one = NamespaceLock::take(name_of(start + "1")), two = NamespaceLock::take(name_of(start + "2"));
  REQUIRE(one->lock);
  REQUIRE(two->lock);
  CHECK_FALSE(NamespaceLock::take(name_of(start + "1"))->lock);
}

TEST_CASE("a name that somebody has without listening is taken, by none of ours") {
  const std::string name = name_of("silent"), text = "tfabric " + name;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(AbstractUnixName(text).bind(socket) == 0);
  const auto taken = NamespaceLock::take(name);
  REQUIRE(taken.ok());
  CHECK_FALSE(taken->lock);
  CHECK_FALSE(taken->owner.user);
  CHECK_FALSE(is_trusted(taken->owner));
  close(socket);
}

TEST_CASE("root's and this user's processes are trusted, and others are not") {
  CHECK(is_trusted({.process = 1, .user = 0}));
  CHECK(is_trusted({.process = 1, .user = geteuid()}));
  CHECK_FALSE(is_trusted({.process = 1, .user = geteuid() + 1234}));
  CHECK(describe({.process = 0, .user = 1000}).find("of uid 1000") != std::string::npos);
}
