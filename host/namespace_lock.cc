#include "host/namespace_lock.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/unix_socket.h"
#include "host/process_lock.h"

namespace tfabric::host {
namespace {

// A text that is too long is cut, and told from others by a sum of all of it.
AbstractUnixName abstract_name(const std::string& name) {
  std::string text = "tfabric " + name;
  if (text.size() > kMaxUnixPath) {
    const std::string sum = fmt::format(" {:x}", std::hash<std::string>()(text));
    text = text.substr(0, kMaxUnixPath - sum.size()) + sum;
  }
  return AbstractUnixName(text);
}

Descriptor open_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Asks the kernel by a connection: it knows which process has called listen(). Nothing if none has.
std::optional<LockOwner> owner_of(const AbstractUnixName& name) {
  const Descriptor socket = open_socket();
  if (name.connect(socket.get()) != 0) {
    return errno == ECONNREFUSED ? std::nullopt : std::optional(LockOwner());
  }
  const std::optional<ucred> peer = unix_peer_of(socket.get());
  return peer ? LockOwner{.process = peer->pid, .user = peer->uid} : LockOwner();
}

}  // namespace

Result<NamespaceLock::Taken> NamespaceLock::take(const std::string& name, const LockOwner* known) {
  // The owner may be between bind() and listen(), or about to end.
  constexpr int kTries = 10;
  constexpr auto kPause = std::chrono::milliseconds(10);
  // As many may ask who has the lock: their connections wait in the backlog and are never accepted.
  constexpr int kMostQuestions = 4096;
  const AbstractUnixName address = abstract_name(name);
  for (int i = 0; i < kTries; ++i) {
    PrivateDescriptor socket(open_socket());
    const bool bound = socket.get() >= 0 && address.bind(socket.get()) == 0;
    if (bound && ::listen(socket.get(), kMostQuestions) == 0) {
      return Taken{.lock = NamespaceLock(std::move(socket)), .owner = {}};
    }
    if (bound || errno != EADDRINUSE) {
      return Error{Errc::system,
                   fmt::format("cannot make a Unix socket with an abstract name: {}", std::strerror(errno))};
    }
    if (const auto owner = known != nullptr ? std::optional(*known) : owner_of(address)) {
      return Taken{.lock = std::nullopt, .owner = *owner};
    }
    std::this_thread::sleep_for(kPause);
  }
  return Taken{.lock = std::nullopt, .owner = {.silent = true}};
}

std::optional<LockOwner> NamespaceLock::owner(const std::string& name) {
  return owner_of(abstract_name(name));
}

bool is_trusted(const LockOwner& owner) {
  if (owner.silent) {
    return false;
  }
  return !owner.user || *owner.user == 0 || *owner.user == geteuid();
}

std::string describe(const LockOwner& owner) {
  const std::string process = describe_process(owner.process);
  const bool said = process.find(" of uid ") != std::string::npos;
  return owner.user && !said ? fmt::format("{} of uid {}", process, *owner.user) : process;
}

}  // namespace tfabric::host
