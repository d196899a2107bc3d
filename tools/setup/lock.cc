#include "tools/setup/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tfabric::setup {

Result<Lock> Lock::take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    return Error{Errc::system, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return Error{Errc::system, "another `tfabric setup` runs on this host: wait until it has ended"};
  }
  return Lock(descriptor);
}

Lock::~Lock() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

}  // namespace tfabric::setup
