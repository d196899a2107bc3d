#include "transport/tcp/rails/kernel_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.h"

namespace tfabric::tcp {
namespace {

config::IpBytes bytes_of(const net::IpAddress& address) {
  return std::bit_cast<config::IpBytes>(address.bytes);
}

}  // namespace

Result<std::shared_ptr<KernelNeighbours>> KernelNeighbours::open(const std::string& rail,
                                                                 const std::string& interface) {
  auto kernel = host::Neighbours::open(interface);
  if (!kernel) {
    return Error{kernel.error().code, fmt::format("rail {}: {}", rail, kernel.error().message)};
  }
  return std::shared_ptr<KernelNeighbours>(new KernelNeighbours(rail, std::move(*kernel)));
}

void KernelNeighbours::ask(const net::IpAddress& address) {
  if (const Status asked = kernel_.resolve(bytes_of(address)); !asked) {
    if (!std::exchange(told_, true)) {
      TF_WARN("NET/tfabric: rail {}: {} ({})", rail_, asked.error().message, net::to_string(address));
    }
    return;
  }
  if (std::find(wanted_.begin(), wanted_.end(), address) == wanted_.end()) {
    wanted_.push_back(address);
  }
}

std::optional<net::Neighbour> KernelNeighbours::next() {
  using Kind = host::Neighbours::Answer::Kind;
  for (auto wanted = wanted_.begin(); wanted != wanted_.end();) {
    const host::Neighbours::Answer answer = kernel_.find(bytes_of(*wanted));
    if (answer.kind == Kind::pending) {
      ++wanted;
      continue;
    }
    const net::IpAddress address = *wanted;
    wanted = wanted_.erase(wanted);
    if (answer.kind == Kind::known) {
      return net::Neighbour{.address = address, .mac = {answer.mac}};
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::tcp
