#include "transport/tcp/net/interface.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "transport/tcp/net/interface_impl.h"

namespace tfabric::net {
namespace {

constexpr std::size_t kMaxQueuedFrames = 64;
// RFC 4443 §2.4(f): the rate of answers is limited.
constexpr double kRepliesPerSecond = 1000;
constexpr double kReplyBurst = 50;
constexpr std::size_t kVlanTagBytes = 4;
constexpr std::uint16_t kVlanIdMask = 0x0fff;

}  // namespace

// Groups are joined only where the addresses are ours alone, and others may be on the wire.
Interface::Impl::Impl(InterfaceConfig c)
    : config(std::move(c)),
      listener(config.point_to_point || config.neighbours != nullptr ? std::vector<IpAddress>{}
                                                                     : groups_of(config.addresses),
               config.seed) {}

Interface::Interface(InterfaceConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Interface::~Interface() = default;
Interface::Interface(Interface&&) noexcept = default;
Interface& Interface::operator=(Interface&&) noexcept = default;

const InterfaceConfig& Interface::config() const { return impl_->config; }

InputResult Interface::input(std::span<const std::byte> frame, const RxMeta& meta, Instant now) {
  Impl& self = *impl_;
  self.now = now;
  self.overheard = meta.overheard;
  if (frame.size() < kEthernetHeaderBytes) {
    return self.malformed();
  }
  FrameView view{.source = mac_at(&frame[6]), .destination = mac_at(frame.data()), .type = get16(&frame[12])};
  if (view.source.is_group()) {
    return self.malformed();  // answers would be broadcast
  }
  std::size_t header = kEthernetHeaderBytes;
  std::uint16_t vlan = 0;
  if (view.type == kEtherTypeVlan) {
    if (frame.size() < kEthernetHeaderBytes + kVlanTagBytes) {
      return self.malformed();
    }
    vlan = get16(&frame[14]) & kVlanIdMask;
    view.type = get16(&frame[16]);
    header += kVlanTagBytes;
  }
  if (vlan != self.config.vlan || (view.destination != self.config.mac && !view.destination.is_group())) {
    ++self.counters.not_for_us;
    return {};
  }
  view.payload = frame.subspan(header);
  switch (view.type) {
    case kEtherTypeIpv4:
      return self.on_ipv4(view, meta);
    case kEtherTypeIpv6:
      return self.on_ipv6(view, meta);
    case kEtherTypeArp:
      return self.on_arp(view);
    default:
      ++self.counters.not_for_us;
      return {};
  }
}

std::uint32_t Interface::generation() const { return impl_->neighbours.generation(); }
const InterfaceCounters& Interface::counters() const { return impl_->counters; }
bool Interface::owns(const IpAddress& address) const { return impl_->owns(address); }

std::optional<IpAddress> Interface::source_for(const IpAddress& destination) const {
  return impl_->source_for(destination);
}

std::optional<std::vector<std::byte>> Interface::next_frame() {
  if (impl_->frames.empty()) {
    return std::nullopt;
  }
  std::vector<std::byte> frame = std::move(impl_->frames.front());
  impl_->frames.pop_front();
  return frame;
}

void Interface::announce(Instant now) {
  Impl& self = *impl_;
  self.now = now;
  const bool joined = std::exchange(self.probing, false);
  if (self.config.point_to_point || self.config.neighbours != nullptr) {
    return;
  }
  if (!joined) {
    self.listener.join(now);
  }
  self.send_reports();
  for (const Prefix& prefix : self.config.addresses) {
    if (prefix.address.is_v4()) {
      constexpr std::uint16_t kRequest = 1;  // RFC 5227 §3: announcements are requests for the own address
      self.send_arp(kRequest, kBroadcast, prefix.address, MacAddress{}, prefix.address);
    } else {
      self.send_advertisement(prefix.address, *parse_ip("ff02::1"), MacAddress{{0x33, 0x33, 0, 0, 0, 1}},
                              /*solicited=*/false);
    }
  }
}

void Interface::probe_addresses(Instant now) {
  Impl& self = *impl_;
  self.now = now;
  if (!std::exchange(self.probing, true)) {
    // RFC 4862 §5.4.2: before the first probe, since another host may probe for the same address.
    self.listener.join(now);
  }
  self.send_reports();
  for (const Prefix& prefix : self.config.addresses) {
    if (prefix.address.is_v4()) {
      constexpr std::uint16_t kRequest = 1;
      // RFC 5227 §1.1: the sender's address is zero, so that other hosts do not learn ours from the probe.
      self.send_arp(kRequest, kBroadcast, *parse_ip("0.0.0.0"), MacAddress{}, prefix.address);
    } else {
      self.send_duplicate_probe(prefix.address);
    }
  }
}

const std::optional<AddressConflict>& Interface::conflict() const { return impl_->conflict; }

void Interface::on_time(Instant now, const UpperLayer* upper) {
  Impl& self = *impl_;
  self.now = now;
  if (NeighbourSource* const source = self.config.neighbours.get()) {
    while (const auto neighbour = source->next()) {
      self.neighbours.answer(neighbour->address, neighbour->mac, now);
    }
  }
  while (const auto request = self.neighbours.due(now, upper)) {
    self.request(*request);
  }
  self.send_reports();
}

Instant Interface::next_deadline() const {
  return std::min(impl_->neighbours.next_deadline(), impl_->listener.next_deadline());
}

// --- Impl

bool Interface::Impl::owns(const IpAddress& address) const {
  return std::any_of(config.addresses.begin(), config.addresses.end(),
                     [&](const Prefix& p) { return p.address == address; });
}

std::optional<IpAddress> Interface::Impl::source_for(const IpAddress& destination) const {
  const auto& addresses = config.addresses;
  const auto same_net = std::find_if(addresses.begin(), addresses.end(),
                                     [&](const Prefix& p) { return p.contains(destination); });
  if (same_net != addresses.end()) {
    return same_net->address;
  }
  const auto same_family = std::find_if(addresses.begin(), addresses.end(), [&](const Prefix& p) {
    return p.address.is_v4() == destination.is_v4();
  });
  return same_family == addresses.end() ? std::nullopt : std::optional(same_family->address);
}

void Interface::Impl::queue(std::vector<std::byte> frame) {
  if (frames.size() == kMaxQueuedFrames) {
    ++counters.reply_queue_full;
    return;
  }
  frames.push_back(std::move(frame));
}

bool Interface::Impl::take_reply_token() {
  if (overheard) {
    return false;
  }
  const double elapsed = std::chrono::duration<double>(now - reply_refilled).count();
  reply_refilled = now;
  reply_tokens = std::min(kReplyBurst, reply_tokens + elapsed * kRepliesPerSecond);
  if (reply_tokens < 1) {
    return false;
  }
  reply_tokens -= 1;
  return true;
}

std::vector<std::byte> Interface::Impl::start_frame(const MacAddress& destination, std::uint16_t type,
                                                    std::size_t payload) const {
  std::vector<std::byte> frame(ethernet_size() + payload);
  std::memcpy(frame.data(), destination.bytes.data(), 6);
  std::memcpy(&frame[6], config.mac.bytes.data(), 6);
  std::size_t at = 12;
  if (config.vlan != 0) {
    put16(&frame[12], kEtherTypeVlan);
    put16(&frame[14], config.vlan);
    at = 16;
  }
  put16(&frame[at], type);
  return frame;
}

void Interface::Impl::on_claim(const IpAddress& address, const MacAddress& mac) {
  if (mac == config.mac || conflict) {
    return;
  }
  conflict = AddressConflict{.address = address, .mac = mac};
  if (probing) {
    return;  // the caller of probe_addresses() reports it
  }
  TF_WARN(
      "NET/tfabric: rail {}: the host with MAC address {} also claims {}: give each ENI an address of "
      "its own",
      config.name, to_string(mac), to_string(address));
}

void Interface::Impl::request(const NeighbourTable::Request& request) {
  const IpAddress& address = request.address;
  if (config.neighbours != nullptr) {
    request.holder ? config.neighbours->verify(address) : config.neighbours->ask(address);
    return;
  }
  if (!address.is_v4()) {
    send_solicitation(address, request.holder);
    return;
  }
  constexpr std::uint16_t kRequest = 1;
  if (const auto source = source_for(address)) {
    send_arp(kRequest, request.holder.value_or(kBroadcast), *source, MacAddress{}, address);
  }
}

}  // namespace tfabric::net
