#include "base/unix_socket.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace tfabric {
namespace {

using Catch::Contains;

// Returns a listening socket. The caller closes it; its file remains.
int serve(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = unix_address(path);
  REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(fd, 1) == 0);
  return fd;
}

std::string refusal(const std::string& path) {
  const Status status = free_unix_path(path, {});
  return status ? "" : status.error().message;
}

}  // namespace

TEST_CASE("a socket is served while its process listens, and its path is freed afterwards") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("s");
  CHECK_FALSE(unix_socket_served(path, {}));
  CHECK(free_unix_path(path, {}).ok());
  const int fd = serve(path);
  CHECK(unix_socket_served(path, {}));
  CHECK_FALSE(unix_socket_served(path, {.type = SOCK_SEQPACKET}));
  CHECK_THAT(refusal(path), Contains("another process serves " + path));
  ::close(fd);
  CHECK_FALSE(unix_socket_served(path, {}));
  CHECK(std::filesystem::exists(path));
  CHECK(free_unix_path(path, {}).ok());
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a process without a free descriptor does not remove a served socket") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("s");
  const int fd = serve(path);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const bool freed = free_unix_path(path, {}).ok();
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(freed);
  CHECK(std::filesystem::exists(path));
  ::close(fd);
}

TEST_CASE("a path that a socket cannot be bound to is refused with the reason") {
  const test::TemporaryFolder folder;
  const std::string file = folder.path("file");
  std::ofstream(file) << "text";
  CHECK_THAT(refusal(file), Contains("is not a socket"));
  CHECK(std::filesystem::exists(file));
  CHECK_THAT(refusal(folder.path("none/s")), Contains("none") && Contains("does not exist"));
  CHECK_THAT(refusal(""), Contains("1 to 107 bytes"));
  CHECK_THAT(refusal("/" + std::string(107, 'x')), Contains("not 108"));
}

}  // namespace tfabric
