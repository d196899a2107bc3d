#include "transport/rails/local_rail.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/random.h"
#include "base/thread.h"
#include "transport/rails/memory_need.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_links.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {
namespace {

// How long a failure is the answer: longer than any caller takes to come back for it.
constexpr Duration kFailureTold = std::chrono::milliseconds(500);

std::uint32_t mtu_of(const config::Rail& config) {
  return std::min(effective_mtu(config), nic::kSharedWireMtu);
}

}  // namespace

net::MacAddress LocalRail::mac_of(std::uint64_t process) {
  const std::uint64_t name = public_name(process);
  net::MacAddress mac{{0x02}};
  std::memcpy(&mac.bytes[1], &name, 5);
  return mac;
}

net::IpAddress LocalRail::address_of(std::uint64_t process) {
  // RFC 4193 §3.1: fd, a global id ("tfabr"), a subnet, and the process as the interface's identifier.
  net::IpAddress address;
  constexpr std::uint8_t kPrefix[] = {0xfd, 't', 'f', 'a', 'b', 'r', 0, 1};
  const std::uint64_t name = public_name(process);
  std::memcpy(address.bytes.data(), kPrefix, sizeof kPrefix);
  std::memcpy(&address.bytes[8], &name, sizeof name);
  return address;
}

OpenedRail LocalRail::open_all(const config::Rail& config, std::span<link::Tcp* const> engines) {
  std::vector<std::unique_ptr<Rail>> rails;
  const std::shared_ptr<engine::Rehearsal> rehearsal = make_rehearsal(config);
  for (link::Tcp* tcp : engines) {
    Result<std::unique_ptr<Rail>> rail = open(config, *tcp, engines.size(), kAnswerTimeout, rehearsal);
    if (!rail) {
      return rail.error();
    }
    rails.push_back(std::move(*rail));
  }
  return rails;
}

Result<std::unique_ptr<Rail>> LocalRail::open(const config::Rail& config, link::Tcp& tcp, std::size_t engines,
                                              Duration answer_timeout,
                                              std::shared_ptr<engine::Rehearsal> rehearsal) {
  const std::uint64_t process = random_u64() | 1;  // not 0
  const std::uint32_t mtu = mtu_of(config);
  Result<std::unique_ptr<link::Link>> loop =
      make_loop_link(config.name, {.name = config.name,
                                   .mac = mac_of(process),
                                   .mtu = static_cast<std::uint16_t>(mtu),
                                   .addresses = {{address_of(process), 64}}});
  if (!loop) {
    return loop.error();
  }
  Result<Descriptor> listener = listen_locally(process);
  if (!listener) {
    return Error{listener.error().code, fmt::format("rail {}: {}", config.name, listener.error().message)};
  }
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) {
    return Error{Errc::system, fmt::format("rail {}: no eventfd for its thread: {}; raise `ulimit -n`",
                                           config.name, std::generic_category().message(errno))};
  }
  link::Link* loop_link = loop->get();
  {
    const engine::Guard guard(tcp.engine().lock());
    tcp.add_link(std::move(*loop));
  }
  return std::unique_ptr<Rail>(new LocalRail(config, tcp, engines, answer_timeout,
                                             {.process = process,
                                              .loop = loop_link,
                                              .listener = std::move(*listener),
                                              .wake = std::move(wake),
                                              .rehearsal = std::move(rehearsal)}));
}

LocalRail::LocalRail(const config::Rail& config, link::Tcp& tcp, std::size_t engines, Duration answer_timeout,
                     Parts parts)
    : Rail(config),
      tcp_(&tcp),
      process_(parts.process),
      mtu_(mtu_of(config)),
      answer_timeout_(answer_timeout),
      receive_share_(make_receive_share(config, engines)),
      rehearsal_(std::move(parts.rehearsal)),
      listener_(std::move(parts.listener)),
      loop_(parts.loop),
      wake_(std::move(parts.wake)) {
  thread_ = start_thread("tfabric-local", [this] { run(); });
}

LocalRail::~LocalRail() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

Result<Way> LocalRail::way_to(const net::IpAddress& /*peer*/, std::uint64_t peer_process) {
  const net::IpAddress remote = address_of(peer_process);
  if (peer_process == process_) {
    return Way{.carrier = loop_, .remote = remote};
  }
  if (peer_process == 0) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "rail {} joins processes of one host by shared memory, and the peer is on another kind of "
            "rail: configure a NIC as the rail on both hosts",
            config().name)};
  }
  auto [found, fresh] = peers_.try_emplace(peer_process);
  Peer& peer = found->second;
  if (!peer.failure.empty()) {
    if (monotonic_now() - peer.failed < kFailureTold) {
      return Error{Errc::remote, peer.failure};  // to all that wait for this attempt
    }
    peer.failure.clear();
    fresh = true;
  }
  if (fresh) {
    {
      const std::lock_guard guard(mutex_);
      wanted_.insert(peer_process);
    }
    eventfd_write(wake_.get(), 1);
  }
  const bool up = peer.link != nullptr && peer.link->port().link_up();
  return Way{.carrier = up ? peer.link : nullptr, .remote = remote};
}

}  // namespace tfabric::rails
