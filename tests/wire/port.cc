#include "tests/wire/port.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "config/value.h"
#include "host/interfaces.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/packet_socket.h"
#include "transport/tcp/nic/wire_sockets.h"

namespace tfabric::wire {
namespace {

// A peer that accepts nothing for this long is not merely slow. Frames for it must not fill the memory that
// the other ports need as well.
constexpr Duration kStall = std::chrono::milliseconds(100);

rte_mbuf* packet_of(const Frame& frame) { return static_cast<rte_mbuf*>(frame.handle); }

}  // namespace

Frame frame_of(rte_mbuf* packet) { return {packet, packet->pkt_len}; }

std::span<const std::byte> MbufStore::head(const Frame& frame) const {
  const rte_mbuf* packet = packet_of(frame);
  return {rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len};
}

std::span<std::byte> MbufStore::writable(const Frame& frame) {
  // Frames come from receive queues and have one reference, so a single buffer is not shared.
  return packet_of(frame)->nb_segs > 1
             ? std::span<std::byte>()
             : std::span<std::byte>{rte_pktmbuf_mtod(packet_of(frame), std::byte*), frame.size};
}

std::optional<Frame> MbufStore::copy(const Frame& frame) {
  rte_mbuf* copy = rte_pktmbuf_copy(packet_of(frame), pool_.get(), 0, frame.size);
  return copy == nullptr ? std::nullopt : std::optional(frame_of(copy));
}

void MbufStore::release(const Frame& frame) { rte_pktmbuf_free(packet_of(frame)); }

Result<PortSpec> PortSpec::parse(std::string_view text) {
  PortSpec spec;
  std::string_view rest = text;
  spec.name = config::take_until(rest, '=');
  spec.kind = config::take_until(rest, ':');
  spec.device = rest;
  if (spec.device.empty() || !(spec.kind == "memif" || spec.kind == "memif-client" || !spec.is_memif())) {
    return Error{Errc::invalid_usage, fmt::format("\"{}\" is no port (--help)", text)};
  }
  return spec;
}

std::uint32_t PortSpec::mtu() const {
  return is_memif() ? nic::kMemifMtu : host::InterfaceQuery().mtu(device);
}

WirePort::~WirePort() { drop_staged(); }

void WirePort::drop_staged() {
  rte_pktmbuf_free_bulk(stage_.data(), static_cast<unsigned>(staged_));
  dropped_ += staged_;
  staged_ = 0;
}

Result<std::unique_ptr<WirePort>> WirePort::open(PortSpec spec, std::shared_ptr<rte_mempool> pool) {
  nic::PortConfig config{
      .name = spec.name, .mtu = static_cast<std::uint16_t>(spec.mtu()), .rx_pool = std::move(pool)};
  if (spec.is_memif()) {
    const bool serves = spec.kind == "memif";
    if (Status free = serves ? nic::free_memif_socket(spec.device) : Status(); !free) {
      return free.error();
    }
    config.device = nic::memif_arguments({.socket = spec.device, .server = serves, .mtu = config.mtu});
  } else {
    auto sockets = nic::open_packet_sockets({.interface = spec.device, .mtu = config.mtu, .filter = {}});
    if (!sockets) {
      return sockets.error();
    }
    config.pipes = std::move(*sockets);
  }
  Result<std::unique_ptr<nic::Port>> port = nic::Port::open(config);
  if (!port) {
    return port.error();
  }
  return std::unique_ptr<WirePort>(new WirePort(std::move(spec), std::move(*port)));
}

bool WirePort::transmit(Direction& direction, Instant now) {
  bool moved = false;
  for (;;) {
    std::array<Frame, kStage> frames;
    const std::size_t count = direction.take(std::span(frames).first(kStage - staged_), now);
    std::transform(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count),
                   stage_.data() + staged_, packet_of);
    staged_ += count;
    moved = moved || count > 0;
    if (staged_ == 0) {
      taken_ = now;
      return moved;
    }
    const std::size_t sent = up_ ? port_->transmit({stage_.data(), staged_}) : 0;
    std::copy(stage_.data() + sent, stage_.data() + staged_, stage_.begin());
    staged_ -= sent;
    if (sent > 0) {
      taken_ = now;
      moved = true;
    } else if (!up_ || now - taken_ > kStall) {
      drop_staged();
    } else {
      return moved;
    }
  }
}

}  // namespace tfabric::wire
