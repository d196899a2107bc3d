#include "tools/wire/mbuf_store.h"

#include <rte_mbuf.h>

#include <cstring>

#include "transport/tcp/nic/linearise.h"

namespace tfabric::wire {

Frame frame_of(rte_mbuf* packet) { return {packet, packet->pkt_len}; }

std::span<const std::byte> MbufStore::head(const Frame& frame) const {
  const rte_mbuf* packet = packet_of(frame);
  return {rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len};
}

std::span<std::byte> MbufStore::writable(Frame& frame) {
  // Frames come from receive queues and are referred to once, so one buffer is the frame's own.
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

}  // namespace tfabric::wire
