#include "transport/tcp/nic/shared_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <system_error>

#include "transport/tcp/nic/fork_guard.h"

namespace tfabric::nic {
namespace {

// The file: a page with the counters of both rings, and the two rings. The end that made it writes to the
// first.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kEthernetBytes = 14;
// Few enough to stay in a core's cache (docs/benchmarks.md), and enough for sixteen of the largest frames.
constexpr std::uint64_t kLeastRing = 1u << 20, kMostRing = 1u << 24;
constexpr std::uint64_t kFramesAtLeast = 16;
// F_SEAL_SEAL, so that the set of seals is final, as the other end sees it.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::uint64_t ring_bytes(std::uint32_t mtu) {
  return std::clamp(std::bit_ceil(kFramesAtLeast * ring_bytes_of(mtu + kEthernetBytes)), kLeastRing,
                    kMostRing);
}

Error failed(const char* what) {
  return {Errc::system, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

// Returns the size of each ring of a file that another process has sent.
Result<std::uint64_t> ring_bytes_in(int memory) {
  const int seals = fcntl(memory, F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(memory, &status) != 0) {
    return Error{Errc::remote, "the shared memory is not sealed"};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t ring = size > kPage ? (size - kPage) / 2 : 0;
  if (ring < kLeastRing || ring > kMostRing || !std::has_single_bit(ring) || kPage + 2 * ring != size) {
    return Error{Errc::remote, fmt::format("the shared memory has {} bytes, which is no size of it", size)};
  }
  return ring;
}

}  // namespace

std::uint64_t shared_wire_bytes(std::uint32_t mtu) { return kPage + 2 * ring_bytes(mtu); }

Result<std::unique_ptr<SharedWire::Mapping>> SharedWire::Mapping::map(int memory, std::uint64_t ring_bytes) {
  void* const space = mmap(nullptr, kPage + 4 * ring_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) {
    return failed("no address space for shared memory");
  }
  auto* const address = static_cast<std::byte*>(space);
  std::unique_ptr<Mapping> mapping(new Mapping(address, ring_bytes));
  struct Part {
    std::uint64_t at, size, offset;  // in the address space, and in the file
  };
  const std::array<Part, 5> parts{{{0, kPage, 0},
                                   {kPage, ring_bytes, kPage},
                                   {kPage + ring_bytes, ring_bytes, kPage},
                                   {kPage + 2 * ring_bytes, ring_bytes, kPage + ring_bytes},
                                   {kPage + 3 * ring_bytes, ring_bytes, kPage + ring_bytes}}};
  for (const Part& part : parts) {
    if (mmap(address + part.at, part.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
             static_cast<off_t>(part.offset)) == MAP_FAILED) {
      return failed("shared memory cannot be mapped");
    }
  }
  keep_from_children(address, kPage + 4 * ring_bytes);
  return mapping;
}

SharedWire::Mapping::~Mapping() { munmap(address_, kPage + 4 * ring_bytes_); }

RingMemory SharedWire::Mapping::ring(unsigned number) const {
  return {.counters = reinterpret_cast<RingCounters*>(address_) + number,
          .bytes = address_ + kPage + ring_bytes_ * 2 * number,
          .size = ring_bytes_};
}

SharedWire::SharedWire(std::unique_ptr<Mapping> mapping, unsigned writes)
    : mapping_(std::move(mapping)),
      largest_(largest_frame(mapping_->ring(0).size)),
      out_(mapping_->ring(writes)),
      in_(mapping_->ring(1 - writes)) {}

SharedWire::~SharedWire() = default;

Result<SharedWire::Made> SharedWire::make(std::uint32_t mtu) {
  Descriptor memory(memfd_create("tfabric-wire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0) {
    return failed("memfd_create(2)");
  }
  // The pages are allocated here, where a lack of them is an error, and not at the first access. A new file
  // reads as zeros, which is what the counters begin with.
  const auto size = static_cast<off_t>(shared_wire_bytes(mtu));
  if (ftruncate(memory.get(), size) != 0 || fallocate(memory.get(), 0, 0, size) != 0) {
    return failed("no shared memory");
  }
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return failed("shared memory cannot be sealed");
  }
  auto mapping = Mapping::map(memory.get(), ring_bytes(mtu));
  if (!mapping) {
    return mapping.error();
  }
  return Made{std::shared_ptr<SharedWire>(new SharedWire(std::move(*mapping), 0)), std::move(memory)};
}

Result<std::shared_ptr<SharedWire>> SharedWire::join(const Descriptor& memory) {
  const Result<std::uint64_t> ring = ring_bytes_in(memory.get());
  if (!ring) {
    return ring.error();
  }
  if (fallocate(memory.get(), 0, 0, static_cast<off_t>(kPage + 2 * *ring)) != 0) {
    return failed("no shared memory");
  }
  auto mapping = Mapping::map(memory.get(), *ring);
  if (!mapping) {
    return mapping.error();
  }
  return std::shared_ptr<SharedWire>(new SharedWire(std::move(*mapping), 1));
}

std::uint16_t SharedWire::put(std::span<rte_mbuf*> packets) {
  std::size_t count = 0;
  for (; count < packets.size(); ++count) {
    const rte_mbuf* const packet = packets[count];
    if (packet->pkt_len > largest_ || packet->pkt_len == 0) {
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
