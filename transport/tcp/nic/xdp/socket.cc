#include "transport/tcp/nic/xdp/socket.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "transport/tcp/nic/device_holders.h"
#include "transport/tcp/nic/xdp/bpf.h"
#include "transport/tcp/nic/xdp/redirect.h"

namespace tfabric::nic::xdp {
namespace {

const xdp_ring_offset& offsets_of(const xdp_mmap_offsets& all, int option) {
  switch (option) {
    case XDP_RX_RING:
      return all.rx;
    case XDP_TX_RING:
      return all.tx;
    case XDP_UMEM_FILL_RING:
      return all.fr;
    default:
      return all.cr;
  }
}

// Rings of full frames hold descriptors, rings of empty frames addresses.
std::size_t entry_bytes(int option) {
  return option == XDP_RX_RING || option == XDP_TX_RING ? sizeof(xdp_desc) : sizeof(std::uint64_t);
}

bool is_filled_here(int option) { return option == XDP_TX_RING || option == XDP_UMEM_FILL_RING; }

// The kernel releases the queue of a closed socket, or of a process that has died, a little later: on a work
// queue, under a lock that dying network namespaces may hold for long.
int bind_patiently(int socket, const sockaddr_xdp& address) {
  constexpr Duration kPatience = std::chrono::seconds(3), kPause = std::chrono::milliseconds(5);
  const Instant until = monotonic_now() + kPatience;
  int answer = 0;
  while ((answer = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address)) != 0 &&
         errno == EBUSY && monotonic_now() < until) {
    std::this_thread::sleep_for(kPause);
  }
  return answer;
}

Error memory_refusal(std::uint64_t size, int error) {
  constexpr std::uint64_t kMib = 1u << 20;
  const std::uint64_t mib = (size + kMib - 1) / kMib;
  rlimit limit{};
  if (error != ENOBUFS || getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return refusal(fmt::format("the kernel does not take {} MiB of packet buffers for AF_XDP", mib), error);
  }
  return {
      Errc::unusable,
      fmt::format("AF_XDP locks {} MiB of packet buffers, and this process may lock {} KiB in all: ulimit "
                  "-l unlimited; docker: --ulimit memlock=-1:-1; or the capability IPC_LOCK",
                  mib, limit.rlim_cur / 1024)};
}

}  // namespace

RingMemory::~RingMemory() {
  if (address_ != nullptr) {
    munmap(address_, size_);
  }
}

RingMemory::RingMemory(RingMemory&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(other.size_) {}

Result<std::unique_ptr<Socket>> Socket::open(const Umem& umem, std::uint32_t fill_size,
                                             std::uint32_t completion_size, xsk_ring& fill,
                                             xsk_ring& completion) {
  PrivateDescriptor descriptor(Descriptor(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)));
  if (descriptor.get() < 0) {
    return refusal("cannot open an AF_XDP socket", errno);
  }
  std::unique_ptr<Socket> opened(new Socket(std::move(descriptor)));
  if (Status status = opened->add_umem(umem); !status) {
    return status.error();
  }
  if (Status status = opened->add_ring(XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, fill_size, fill);
      !status) {
    return status.error();
  }
  if (Status status = opened->add_ring(XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
                                       completion_size, completion);
      !status) {
    return status.error();
  }
  return opened;
}

Socket::~Socket() {
  if (redirect_ != nullptr) {
    redirect_->remove(queue_);
  }
}

Status Socket::add_umem(const Umem& umem) {
  xdp_umem_reg request{};
  request.addr = reinterpret_cast<std::uintptr_t>(umem.area);
  request.len = umem.size;
  request.chunk_size = umem.frame_bytes;
  request.headroom = umem.headroom;
  request.flags = umem.flags;
  if (setsockopt(descriptor(), SOL_XDP, XDP_UMEM_REG, &request, sizeof request) != 0) {
    return memory_refusal(umem.size, errno);
  }
  return {};
}

Status Socket::add_ring(int option, std::uint64_t page, std::uint32_t entries, xsk_ring& ring) {
  constexpr const char* kWhat = "cannot make a ring of an AF_XDP socket";
  if (setsockopt(descriptor(), SOL_XDP, option, &entries, sizeof entries) != 0) {
    return refusal(fmt::format("{} with {} entries", kWhat, entries), errno);
  }
  xdp_mmap_offsets all{};
  socklen_t length = sizeof all;
  if (getsockopt(descriptor(), SOL_XDP, XDP_MMAP_OFFSETS, &all, &length) != 0) {
    return refusal(kWhat, errno);
  }
  if (length != sizeof all) {
    return refusal(kWhat, EAFNOSUPPORT);  // as in Linux before 5.4
  }
  const xdp_ring_offset& at = offsets_of(all, option);
  const std::size_t size = at.desc + entries * entry_bytes(option);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor(),
                      static_cast<off_t>(page));
  if (memory == MAP_FAILED) {
    return refusal(kWhat, errno);
  }
  keep_from_children(memory, size);
  rings_.emplace_back(memory, size);
  auto* bytes = static_cast<std::byte*>(memory);
  const auto word = [&](std::uint64_t offset) { return reinterpret_cast<std::uint32_t*>(bytes + offset); };
  ring = {.cached_prod = *word(at.producer),
          .cached_cons = *word(at.consumer) + (is_filled_here(option) ? entries : 0),
          .mask = entries - 1,
          .size = entries,
          .producer = word(at.producer),
          .consumer = word(at.consumer),
          .ring = bytes + at.desc,
          .flags = word(at.flags)};
  return {};
}

Status Socket::bind(const Redirect& redirect, unsigned interface_index, std::uint32_t queue,
                    const xsk_socket_config& config, xsk_ring* receive, xsk_ring* transmit) {
  if (receive != nullptr && config.rx_size != 0) {
    if (Status status = add_ring(XDP_RX_RING, XDP_PGOFF_RX_RING, config.rx_size, *receive); !status) {
      return status;
    }
  }
  if (transmit != nullptr && config.tx_size != 0) {
    if (Status status = add_ring(XDP_TX_RING, XDP_PGOFF_TX_RING, config.tx_size, *transmit); !status) {
      return status;
    }
  }
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = config.bind_flags;
  address.sxdp_ifindex = interface_index;
  address.sxdp_queue_id = queue;
  if (bind_patiently(descriptor(), address) != 0) {
    const std::string what =
        fmt::format("AF_XDP does not get queue {} of the interface {}", queue, redirect.interface());
    if (errno == EBUSY) {
      const std::string holders = holders_of_xdp_queue(interface_index, queue);
      return Error{Errc::unusable, fmt::format("{}: {} has an AF_XDP socket of it: end that process", what,
                                               holders.empty() ? "another process" : holders)};
    }
    return refusal(what, errno);
  }
  if (Status status = redirect.add(queue, descriptor()); !status) {
    return status;
  }
  redirect_ = &redirect;
  queue_ = queue;
  xdp_options options{};
  socklen_t length = sizeof options;
  const bool zero_copy = getsockopt(descriptor(), SOL_XDP, XDP_OPTIONS, &options, &length) == 0 &&
                         (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  TF_INFO("NET/tfabric: AF_XDP has queue {} of the interface {}: {}, {}", queue, redirect.interface(),
          redirect.mode(), zero_copy ? "zero-copy" : "frames are copied");
  return {};
}

}  // namespace tfabric::nic::xdp
