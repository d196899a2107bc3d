// How comms of the kernel reference plugin come into being: non-blocking connects of one control socket
// and several data sockets, each introducing itself to the listener.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/bench/kernel/comm.h"

namespace tfabric::bench {

// From the environment, once.
struct Settings {
  std::size_t sockets = 0;    // KERNELNET_SOCKETS: data sockets a comm; 0: all on the control socket
  std::size_t threads = 0;    // KERNELNET_THREADS: helper threads a comm; 0: the polling thread
  int buffer_bytes = 0;       // KERNELNET_BUFFER: SO_SNDBUF and SO_RCVBUF; 0: the kernel's own tuning
  std::uint32_t address = 0;  // KERNELNET_ADDRESS: IPv4, network order
};
Result<Settings> settings_from_environment();

class Connecting;

// The 128 bytes that NCCL ships. `state` is the connector's, null as listened.
struct Handle {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint32_t address;
  std::uint16_t port;
  Connecting* state;
};
static_assert(sizeof(Handle) <= 128);

class Listener {
 public:
  static Result<Listener*> make(const Settings& settings, Handle& handle);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  Result<Comm*> accept();  // null: not yet

 private:
  Listener(const Settings& settings, int fd) : settings_(settings), fd_(fd) {}
  bool introduce(std::size_t at);
  Settings settings_;
  int fd_;
  std::uint64_t nonce_ = 0;
  std::vector<int> unknown_;  // connected, and not introduced yet
  std::vector<int> sockets_;  // by index, -1 where missing
};

// Null: not yet, call again with the same handle.
Result<Comm*> connect(const Settings& settings, Handle& handle);

}  // namespace tfabric::bench
