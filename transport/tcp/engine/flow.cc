#include "transport/tcp/engine/flow.h"

#include <fmt/format.h>

namespace tfabric::engine {

std::string Flow::describe() const {
  const auto end = [](const net::IpAddress& address, std::uint16_t port) {
    const std::string text = net::to_string(address);
    return address.is_v4() ? fmt::format("{}:{}", text, port) : fmt::format("[{}]:{}", text, port);
  };
  return end(key_.local, key_.ports.local) + " - " + end(key_.remote, key_.ports.remote);
}

}  // namespace tfabric::engine
