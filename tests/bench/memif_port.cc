#include "tests/bench/memif_port.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/time.h"
#include "transport/tcp/nic/eal.h"

namespace tfabric::bench {
namespace {

constexpr auto kLinkPatience = std::chrono::seconds(15);

}  // namespace

SocketFolder::SocketFolder()
    : path_((std::filesystem::temp_directory_path() / "tfabric_bench.XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    path_.clear();
  }
}

SocketFolder::~SocketFolder() {
  if (made()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Result<std::unique_ptr<nic::Port>> open_memif_port(const std::string& socket, bool server,
                                                   std::uint32_t frame) {
  nic::EalOptions eal;
  eal.memory_mib = 512;
  if (auto started = nic::start_eal(eal); !started) {
    return started.error();
  }
  nic::PortConfig config;
  config.name = "bench";
  config.mtu = static_cast<std::uint16_t>(frame - 14);
  // One ring slot holds a whole frame; the driver wants slots aligned.
  const std::uint32_t slot = (std::max(2048u, frame) + 63) / 64 * 64;
  config.device = fmt::format("net_memif0,role={},id=0,socket={},socket-abstract=no,bsize={},rsize=10",
                              server ? "server" : "client", socket, slot);
  auto port = nic::Port::open(config);
  if (!port) {
    return port.error();
  }
  const Instant deadline = monotonic_now() + kLinkPatience;
  while (!(*port)->link_up()) {
    if (monotonic_now() > deadline) {
      return Error{Errc::remote, "the memif link did not come up"};
    }
    usleep(1000);
  }
  return port;
}

}  // namespace tfabric::bench
