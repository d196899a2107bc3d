#include "transport/tcp/nic/packet_batch.h"

#include <linux/if_packet.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tfabric::nic {
namespace {

constexpr std::uint16_t kChecksumAt = 16;  // in TCP's header (RFC 9293 §3.1)

VirtioHeader header_of(const rte_mbuf& packet) {
  VirtioHeader header;
  if ((packet.ol_flags & RTE_MBUF_F_TX_L4_MASK) != RTE_MBUF_F_TX_TCP_CKSUM) {
    return header;
  }
  header.flags = VirtioHeader::kNeedsChecksum;
  header.checksum_from = static_cast<std::uint16_t>(packet.l2_len + packet.l3_len);
  header.checksum_at = kChecksumAt;
  header.header_bytes = static_cast<std::uint16_t>(header.checksum_from + packet.l4_len);
  if ((packet.ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0) {
    header.segmentation =
        (packet.ol_flags & RTE_MBUF_F_TX_IPV4) != 0 ? VirtioHeader::kTcpV4 : VirtioHeader::kTcpV6;
    header.segment_bytes = packet.tso_segsz;
  }
  return header;
}

// The socket's buffer or the NIC's queue is full. Else the kernel would refuse the packet again.
bool is_temporary(int error) { return error == EAGAIN || error == ENOBUFS || error == EINTR; }

// Puts in the tag that the kernel reports; false if it has cut its report short.
bool put_tag(rte_mbuf& packet, const msghdr& message) {
  constexpr std::size_t kAddresses = 12, kTag = 4;  // IEEE 802.1Q: the tag follows the addresses
  constexpr std::uint16_t kDefaultType = 0x8100;
  for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(header))) {
    if (header->cmsg_level != SOL_PACKET || header->cmsg_type != PACKET_AUXDATA) {
      continue;
    }
    tpacket_auxdata about{};
    std::memcpy(&about, CMSG_DATA(header), sizeof about);
    if ((about.tp_status & TP_STATUS_VLAN_VALID) == 0) {
      return true;
    }
    const bool has_type = (about.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    const std::array<std::uint16_t, 2> tag{__builtin_bswap16(has_type ? about.tp_vlan_tpid : kDefaultType),
                                           __builtin_bswap16(about.tp_vlan_tci)};
    char* const start = rte_pktmbuf_prepend(&packet, kTag);
    std::memmove(start, start + kTag, kAddresses);
    std::memcpy(start + kAddresses, tag.data(), kTag);
    return true;
  }
  return false;
}

}  // namespace

// --- PacketSender

std::size_t PacketSender::stage(std::span<rte_mbuf* const> packets) {
  std::size_t count = 0, used = 0;
  for (const rte_mbuf* packet : packets.first(std::min(packets.size(), kPacketBatch))) {
    if (used + 1 + packet->nb_segs > pieces_.size()) {
      break;
    }
    const std::size_t first = used;
    if (virtio_headers_) {
      headers_[count] = header_of(*packet);
      pieces_[used++] = {&headers_[count], sizeof headers_[count]};
    }
    for (const rte_mbuf* piece = packet; piece != nullptr; piece = piece->next) {
      pieces_[used++] = {rte_pktmbuf_mtod(piece, void*), piece->data_len};
    }
    messages_[count++].msg_hdr = {.msg_iov = &pieces_[first], .msg_iovlen = used - first};
  }
  return count;
}

std::uint16_t PacketSender::send(int socket, std::span<rte_mbuf*> packets) {
  std::size_t sent = 0;
  while (sent < packets.size()) {
    const std::size_t staged = stage(packets.subspan(sent));
    // A chain of more buffers than a call takes is dropped like a packet that is refused.
    int taken =
        staged == 0 ? 1 : ::sendmmsg(socket, messages_.data(), static_cast<unsigned>(staged), MSG_DONTWAIT);
    if (taken < 0) {
      if (is_temporary(errno)) {
        break;
      }
      taken = 1;
    }
    rte_pktmbuf_free_bulk(&packets[sent], static_cast<unsigned>(taken));
    sent += static_cast<std::size_t>(taken);
  }
  return static_cast<std::uint16_t>(sent);
}

// --- PacketReceiver

PacketReceiver::~PacketReceiver() {
  for (Slot& slot : slots_) {
    rte_pktmbuf_free_bulk(slot.buffers.data(), static_cast<unsigned>(buffers_));
  }
}

bool PacketReceiver::fill(Slot& slot, rte_mempool& pool) const {
  for (std::size_t i = 0; i < buffers_; ++i) {
    if (slot.buffers[i] == nullptr) {
      rte_mbuf* const buffer = rte_pktmbuf_alloc(&pool);
      if (buffer == nullptr) {
        return false;
      }
      slot.buffers[i] = buffer;
      slot.pieces[i + 1] = {rte_pktmbuf_mtod(buffer, void*), rte_pktmbuf_tailroom(buffer)};
    }
  }
  return true;
}

std::size_t PacketReceiver::fill(std::size_t count, rte_mempool& pool) {
  if (buffers_ == 0) {
    const std::uint32_t room = rte_pktmbuf_data_room_size(&pool) - RTE_PKTMBUF_HEADROOM;
    buffers_ = std::min<std::size_t>((options_.most_bytes + room - 1) / room, kMostBuffers);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      slot.pieces[0] = {&slot.header, sizeof slot.header};
      const std::size_t first = options_.virtio_headers ? 0 : 1;
      messages_[i].msg_hdr.msg_iov = &slot.pieces[first];
      messages_[i].msg_hdr.msg_iovlen = buffers_ + 1 - first;
      messages_[i].msg_hdr.msg_control = options_.tags ? slot.control.data() : nullptr;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!fill(slots_[i], pool)) {
      return i;
    }
    messages_[i].msg_hdr.msg_controllen = options_.tags ? slots_[i].control.size() : 0;
  }
  return count;
}

std::uint16_t PacketReceiver::receive(int socket, std::span<rte_mbuf*> out, rte_mempool& pool) {
  const std::size_t ready = fill(std::min(kPacketBatch, out.size()), pool);
  if (ready == 0) {
    return 0;
  }
  const int count = ::recvmmsg(socket, messages_.data(), static_cast<unsigned>(ready), MSG_DONTWAIT, nullptr);
  if (count <= 0) {
    // Nothing is there; or the interface has gone down; or a packet has gone by that virtio's header has no
    // words for.
    return 0;
  }
  std::uint16_t packets = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (rte_mbuf* packet = take(slots_[i], messages_[i]); packet != nullptr) {
      out[packets++] = packet;
    }
  }
  return packets;
}

rte_mbuf* PacketReceiver::take(Slot& slot, const mmsghdr& message) const {
  const std::size_t before = options_.virtio_headers ? sizeof slot.header : 0;
  if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0 || message.msg_len <= before) {
    return nullptr;
  }
  std::size_t left = message.msg_len - before;
  rte_mbuf* const packet = slot.buffers[0];
  packet->pkt_len = static_cast<std::uint32_t>(left);
  rte_mbuf* last = nullptr;
  for (std::size_t i = 0; left > 0; ++i) {
    rte_mbuf* const buffer = std::exchange(slot.buffers[i], nullptr);
    buffer->data_len = static_cast<std::uint16_t>(std::min(left, slot.pieces[i + 1].iov_len));
    left -= buffer->data_len;
    if (last != nullptr) {
      last->next = buffer;
      ++packet->nb_segs;
    }
    last = buffer;
  }
  // "Needs" is said of a packet that no wire has carried, and of several right ones that have been joined.
  constexpr std::uint8_t kGood = VirtioHeader::kNeedsChecksum | VirtioHeader::kChecksumIsRight;
  if (options_.virtio_headers && (slot.header.flags & kGood) != 0) {
    packet->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
  }
  if (options_.tags && !put_tag(*packet, message.msg_hdr)) {
    rte_pktmbuf_free(packet);
    return nullptr;
  }
  return packet;
}

}  // namespace tfabric::nic
