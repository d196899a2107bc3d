#include "tools/setup/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace tfabric::setup {

Result<Lock> Lock::take(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    return Error{Errc::system, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::system, "another `tfabric setup` runs on this host: wait until it has ended"};
  }
  return Lock(std::move(file));
}

}  // namespace tfabric::setup
