// A port on a memif pair between two processes of a benchmark: one is the server, the other the client.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::bench {

// A folder for the socket of the pair, removed with its contents.
class SocketFolder {
 public:
  SocketFolder();
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  [[nodiscard]] bool made() const { return !path_.empty(); }
  [[nodiscard]] std::string socket() const { return path_ + "/memif.sock"; }

 private:
  std::string path_;
};

// Starts DPDK and waits for the other process. `frame`: bytes of the largest frame, Ethernet header included.
Result<std::unique_ptr<nic::Port>> open_memif_port(const std::string& socket, bool server,
                                                   std::uint32_t frame);

}  // namespace tfabric::bench
