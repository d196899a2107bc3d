#include "transport/rdma/memory/registration_fault.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <limits>
#include <system_error>

namespace tfabric::rdma {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::string limit_text(std::uint64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{} bytes", limit);
}

// A registration that is too large for the limit fails with ENOMEM; some kernels say EAGAIN.
bool may_be_the_limit(int error) { return error == ENOMEM || error == EAGAIN; }

}  // namespace

std::uint64_t memlock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kUnlimited;
  }
  return limit.rlim_cur;
}

std::string registration_fault(int error, std::size_t bytes, std::uint64_t limit) {
  const std::string what =
      fmt::format("{} bytes cannot be registered: {}", bytes, std::generic_category().message(error));
  if (!may_be_the_limit(error)) {
    return fmt::format("{}; is the address still mapped, and may it be written? (RLIMIT_MEMLOCK is {})", what,
                       limit_text(limit));
  }
  if (limit == kUnlimited) {
    return fmt::format(
        "{}; RLIMIT_MEMLOCK is unlimited, so the host or its cgroup has too little memory, or the HCA has no "
        "room for more regions",
        what);
  }
  return fmt::format(
      "{}; RLIMIT_MEMLOCK is {} for all that this process has locked: raise it with `ulimit -l unlimited`, "
      "in /etc/security/limits.d, by LimitMEMLOCK=infinity for a service, and for a container with --ulimit "
      "memlock=-1:-1 (Kubernetes: in the runtime's own service)",
      what, limit_text(limit));
}

Error registration_error(int error, std::size_t bytes) {
  return {Errc::system, registration_fault(error, bytes, memlock_limit())};
}

}  // namespace tfabric::rdma
