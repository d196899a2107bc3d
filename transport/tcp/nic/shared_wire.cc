#include "transport/tcp/nic/shared_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/fork_guard.h"

namespace tfabric::nic {
namespace {

// So much of a burst is shown to the peer before more is copied: it works on the one part while this end
// copies the next.
constexpr std::size_t kAtOnce = 48u << 10;

// F_SEAL_SEAL, so that the set of seals is final, as the other end sees it.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// Each ring is mapped twice in a row (frame_ring.h).
constexpr std::uint64_t kMapped = kWireCounterBytes + 4 * kWireRingBytes;
constexpr std::uint32_t kEthernetBytes = 14;
static_assert(kSharedWireMtu + kEthernetBytes + RTE_PKTMBUF_HEADROOM == UINT16_MAX);
static_assert(16 * ring_bytes_of(kSharedWireMtu + kEthernetBytes) <= kWireRingBytes);

Error failed(const char* what) {
  return {Errc::system, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

// Checks a file that another process has sent.
Status check_memory(int memory) {
  const int seals = fcntl(memory, F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(memory, &status) != 0) {
    return Error{Errc::remote, "the shared memory is not sealed"};
  }
  if (static_cast<std::uint64_t>(status.st_size) != kSharedWireBytes) {
    return Error{Errc::remote,
                 fmt::format("the shared memory has {} bytes, which is no size of it", status.st_size)};
  }
  return {};
}

// Allocates the pages of the file, so that a lack of them is an error here, and not at the first access.
bool allocate(int memory) { return fallocate(memory, 0, 0, kSharedWireBytes) == 0; }

}  // namespace

Result<std::unique_ptr<SharedWire::Mapping>> SharedWire::Mapping::map(int memory) {
  void* const space = mmap(nullptr, kMapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) {
    return failed("no address space for shared memory");
  }
  auto* const address = static_cast<std::byte*>(space);
  std::unique_ptr<Mapping> mapping(new Mapping(address));
  struct Part {
    std::uint64_t at, size, offset;  // in the address space, and in the file
  };
  constexpr std::uint64_t kFirst = kWireCounterBytes, kRing = kWireRingBytes;
  constexpr std::array<Part, 5> kParts{{{0, kWireCounterBytes, 0},
                                        {kFirst, kRing, kFirst},
                                        {kFirst + kRing, kRing, kFirst},
                                        {kFirst + 2 * kRing, kRing, kFirst + kRing},
                                        {kFirst + 3 * kRing, kRing, kFirst + kRing}}};
  for (const Part& part : kParts) {
    if (mmap(address + part.at, part.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
             static_cast<off_t>(part.offset)) == MAP_FAILED) {
      return failed("shared memory cannot be mapped");
    }
  }
  keep_from_children(address, kMapped);
  return mapping;
}

SharedWire::Mapping::~Mapping() { munmap(address_, kMapped); }

RingMemory SharedWire::Mapping::ring(unsigned number) const {
  return {.counters = reinterpret_cast<RingCounters*>(address_) + number,
          .bytes = address_ + kWireCounterBytes + kWireRingBytes * 2 * number,
          .size = kWireRingBytes};
}

SharedWire::SharedWire(std::unique_ptr<Mapping> mapping, unsigned writes)
    : mapping_(std::move(mapping)), out_(mapping_->ring(writes)), in_(mapping_->ring(1 - writes)) {}

SharedWire::~SharedWire() = default;

Result<SharedWire::Made> SharedWire::make() {
  Descriptor memory(memfd_create("tfabric-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) {
    return failed("memfd_create(2)");
  }
  // A new file reads as zeros, which is what the counters begin with.
  if (ftruncate(memory.get(), kSharedWireBytes) != 0 || !allocate(memory.get())) {
    return failed("no shared memory");
  }
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return failed("shared memory cannot be sealed");
  }
  auto mapping = Mapping::map(memory.get());
  if (!mapping) {
    return mapping.error();
  }
  return Made{std::shared_ptr<SharedWire>(new SharedWire(std::move(*mapping), 0)), std::move(memory)};
}

Result<std::shared_ptr<SharedWire>> SharedWire::join(const Descriptor& memory) {
  if (Status status = check_memory(memory.get()); !status) {
    return status.error();
  }
  if (!allocate(memory.get())) {
    return failed("no shared memory");
  }
  auto mapping = Mapping::map(memory.get());
  if (!mapping) {
    return mapping.error();
  }
  return std::shared_ptr<SharedWire>(new SharedWire(std::move(*mapping), 1));
}

std::uint16_t SharedWire::put(std::span<rte_mbuf*> packets) {
  std::size_t count = 0, unseen = 0;
  for (; count < packets.size(); ++count) {
    const rte_mbuf* const packet = packets[count];
    if (packet->pkt_len > largest_frame(kWireRingBytes) || packet->pkt_len == 0) {
      continue;
    }
    std::byte* to = out_.reserve(packet->pkt_len);
    if (to == nullptr) {
      break;
    }
    for (const rte_mbuf* part = packet; part != nullptr; part = part->next) {
      std::memcpy(to, rte_pktmbuf_mtod(part, const std::byte*), part->data_len);
      to += part->data_len;
    }
    out_.commit();
    unseen += packet->pkt_len;
    if (unseen >= kAtOnce) {
      out_.publish();
      unseen = 0;
    }
  }
  if (count > 0) {
    out_.publish();
    rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(count));
  }
  return static_cast<std::uint16_t>(count);
}

std::uint16_t SharedWire::take(std::span<rte_mbuf*> out, rte_mempool& pool) {
  std::size_t count = 0;
  bool popped = false;
  // Dropped frames count, too, so that a peer cannot keep this thread here.
  for (std::size_t tries = 0; tries < out.size(); ++tries) {
    const std::span<const std::byte> frame = in_.front();
    if (frame.empty()) {
      break;
    }
    rte_mbuf* const packet = rte_pktmbuf_alloc(&pool);
    if (packet == nullptr) {
      break;
    }
    if (frame.size() <= rte_pktmbuf_tailroom(packet)) {
      const auto bytes = static_cast<std::uint16_t>(frame.size());
      std::memcpy(rte_pktmbuf_mtod(packet, std::byte*), frame.data(), bytes);
      packet->data_len = bytes;
      packet->pkt_len = bytes;
      out[count++] = packet;
    } else {
      rte_pktmbuf_free(packet);
    }
    in_.pop();
    popped = true;
  }
  if (popped) {
    in_.publish();
  }
  return static_cast<std::uint16_t>(count);
}

const char* SharedWire::why_down() const {
  return broken() ? "the process at the other end has written nonsense into the memory that both share"
                  : "the process at the other end of the wire has ended";
}

bool SharedWire::up() const { return !broken() && (!ended_.load(std::memory_order_acquire) || !in_.empty()); }

}  // namespace tfabric::nic
