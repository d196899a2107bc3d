#include "tests/wire/wire_port.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "host/interfaces.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/offloads.h"
#include "transport/tcp/nic/packet_socket.h"
#include "transport/tcp/nic/wire_sockets.h"

namespace tfabric::wire {
namespace {

constexpr std::uint32_t kMtu = 1500;
// A peer that accepts nothing for this long is not merely slow. Frames for it must not fill the memory that
// the other ports need as well.
constexpr Duration kStall = std::chrono::milliseconds(100);

// Empty: an interface that needs no device of DPDK.
std::string device_arguments(const PortSpec& spec) {
  const std::uint32_t mtu = buffer_mtu(spec);
  switch (spec.kind) {
    case PortKind::memif:
      return nic::memif_arguments({.socket = spec.device, .server = spec.memif_server, .mtu = mtu});
    case PortKind::tap:
      return nic::tap_arguments(spec.device);
    case PortKind::af_xdp:
      return nic::af_xdp_arguments(spec.device, /*start_queue=*/0, /*queue_count=*/1);
    case PortKind::af_packet:
      break;
  }
  return {};
}

}  // namespace

Frame frame_of(rte_mbuf* packet) { return {packet, packet->pkt_len}; }

std::span<const std::byte> MbufStore::head(const Frame& frame) const {
  const rte_mbuf* packet = packet_of(frame);
  return {rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len};
}

std::span<std::byte> MbufStore::writable(Frame& frame) {
  // Frames come from receive queues and have one reference, so a single buffer is not shared.
  if (packet_of(frame)->nb_segs > 1) {
    rte_mbuf* whole = nic::linearised_copy(*packet_of(frame), pool_.get());
    if (whole == nullptr) {
      return {};
    }
    rte_pktmbuf_free(packet_of(frame));
    frame = frame_of(whole);
  }
  return {rte_pktmbuf_mtod(packet_of(frame), std::byte*), frame.size};
}

std::optional<Frame> MbufStore::copy(const Frame& frame) {
  rte_mbuf* copy = rte_pktmbuf_copy(packet_of(frame), pool_.get(), 0, frame.size);
  return copy == nullptr ? std::nullopt : std::optional(frame_of(copy));
}

std::optional<Frame> MbufStore::make(std::span<const std::byte> bytes) {
  rte_mbuf* packet = rte_pktmbuf_alloc(pool_.get());
  if (packet == nullptr) {
    return std::nullopt;
  }
  char* room = rte_pktmbuf_append(packet, static_cast<std::uint16_t>(bytes.size()));
  if (room == nullptr) {
    rte_pktmbuf_free(packet);
    return std::nullopt;
  }
  std::memcpy(room, bytes.data(), bytes.size());
  return frame_of(packet);
}

void MbufStore::release(const Frame& frame) { rte_pktmbuf_free(packet_of(frame)); }

std::uint32_t buffer_mtu(const PortSpec& spec) {
  if (spec.mtu != 0) {
    return spec.mtu;
  }
  if (spec.kind == PortKind::memif) {
    return nic::kMemifMtu;
  }
  const std::uint32_t mtu = spec.kind == PortKind::tap ? 0 : host::InterfaceQuery().mtu(spec.device);
  return mtu != 0 ? mtu : kMtu;
}

WirePort::WirePort(PortSpec spec, std::shared_ptr<rte_mempool> pool)
    : spec_(std::move(spec)), pool_(std::move(pool)) {}

WirePort::~WirePort() { drop_staged(); }

void WirePort::drop_staged() {
  rte_pktmbuf_free_bulk(stage_.data(), static_cast<unsigned>(staged_));
  dropped_ += staged_;
  staged_ = 0;
}

Status WirePort::open() {
  if (is_memif_client()) {
    maintain();
    return {};
  }
  if (spec_.kind == PortKind::memif) {
    if (Status free = nic::free_memif_socket(spec_.device); !free) {
      return Error{free.error().code, fmt::format("port {}: {}", spec_.name, free.error().message)};
    }
  }
  return open_device();
}

Result<std::unique_ptr<nic::Port>> WirePort::open_port() const {
  nic::PortConfig config{.name = spec_.name,
                         .device = device_arguments(spec_),
                         .mtu = static_cast<std::uint16_t>(buffer_mtu(spec_)),
                         .rx_pool = pool_};
  if (spec_.kind == PortKind::af_packet) {
    auto socket = nic::open_packet_sockets({.interface = spec_.device, .mtu = config.mtu, .filter = {}});
    if (!socket) {
      return socket.error();
    }
    config.pipes = std::move(*socket);
  }
  return nic::Port::open(config);
}

Status WirePort::open_device() {
  Result<std::unique_ptr<nic::Port>> port = open_port();
  if (!port) {
    return Error{port.error().code,
                 fmt::format("port {} ({}): {}", spec_.name, spec_.text, port.error().message)};
  }
  port_ = std::move(*port);
  was_up_ = false;
  return {};
}

void WirePort::maintain() {
  if (port_ == nullptr) {
    if (nic::memif_served(spec_.device)) {
      // The server may have ended since; the next call tries again.
      if (Status opened = open_device(); !opened) {
        TF_INFO("{}", opened.error().message);
      }
    }
    return;
  }
  // Not for other kinds: a TAP that was moved to another network namespace would seem to be down.
  up_ = spec_.kind != PortKind::memif || port_->link_up();
  if (is_memif_client() && was_up_ && !up_) {
    drop_staged();
    port_.reset();
  }
  was_up_ = was_up_ || up_;
}

std::uint16_t WirePort::receive(std::span<rte_mbuf*> packets) {
  return port_ == nullptr ? std::uint16_t{0} : port_->receive(packets);
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
