#include "base/random.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <set>

using namespace tfabric;

namespace {

// Refuses getrandom(2) to this process and, with `device`, every openat(2), so that /dev/urandom cannot be
// opened.
bool refuse_random(bool device) {
  const auto refused = [](unsigned number) {
    return std::array<sock_filter, 2>{sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
  };
  const auto first = refused(SYS_getrandom);
  const auto second = refused(device ? SYS_openat : SYS_getrandom);
  std::array<sock_filter, 6> filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      first[0],
      first[1],
      second[0],
      second[1],
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Runs `child` in a process of its own. Returns its exit status; -1: it did not end by itself within a
// minute.
template <class Child>
int status_of(Child child) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(60);
    _exit(child());
  }
  int status = 0;
  REQUIRE(waitpid(process, &status, 0) == process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kNoSeccomp = 77;

}  // namespace

TEST_CASE("random numbers differ") {
  REQUIRE(has_random());
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random_u64());
  }
  REQUIRE(seen.size() == 1000);
}

TEST_CASE("where getrandom is refused, /dev/urandom gives the numbers") {
  const int status = status_of([] {
    if (!refuse_random(/*device=*/false)) {
      return kNoSeccomp;
    }
    const std::uint64_t first = random_u64();
    std::array<std::byte, 16> secret{};
    return has_random() && random_u64() != first && fill_secret(secret) && secret != decltype(secret){} ? 0
                                                                                                        : 1;
  });
  REQUIRE((status == 0 || status == kNoSeccomp));
}

TEST_CASE("where both are refused, this is said, and no call waits for ever") {
  const int status = status_of([] {
    if (!refuse_random(/*device=*/true)) {
      return kNoSeccomp;
    }
    const std::uint64_t first = random_u64();
    std::array<std::byte, 16> secret{};  // is not made up
    return !has_random() && random_u64() != first && !fill_secret(secret) ? 0 : 1;
  });
  REQUIRE((status == 0 || status == kNoSeccomp));
}
