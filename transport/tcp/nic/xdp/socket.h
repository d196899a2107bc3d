// An AF_XDP socket (kernel: Documentation/networking/af_xdp.rst): the memory of the frames, and the four
// rings over which the socket and the kernel exchange them.
#pragma once

#include <linux/if_xdp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/fork_guard.h"
#include "base/result.h"
#include "transport/tcp/nic/xdp/libxdp_abi.h"

namespace tfabric::nic::xdp {

class Redirect;

// The mapping of a ring's memory, which the kernel has allocated.
class RingMemory {
 public:
  RingMemory(void* address, std::size_t size) : address_(address), size_(size) {}
  ~RingMemory();
  RingMemory(RingMemory&& other) noexcept;
  RingMemory& operator=(RingMemory&&) = delete;
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

 private:
  void* address_;
  std::size_t size_;
};

// The memory of the frames.
struct Umem {
  void* area = nullptr;
  std::uint64_t size = 0;
  std::uint32_t frame_bytes = 0;  // a page at most
  std::uint32_t headroom = 0;     // bytes before what the kernel writes
  std::uint32_t flags = 0;        // XDP_UMEM_...
};

class Socket {
 public:
  // Opens a socket with its memory and the rings of empty frames: those that the kernel may fill (`fill`),
  // and those that it has sent (`completion`).
  static Result<std::unique_ptr<Socket>> open(const Umem& umem, std::uint32_t fill_size,
                                              std::uint32_t completion_size, xsk_ring& fill,
                                              xsk_ring& completion);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Adds the rings of full frames, and binds to a queue of the interface, whose frames come here from then
  // on. A ring of size 0 is left out. `redirect` must outlive the socket. Closing the socket releases the
  // queue and the memory.
  Status bind(const Redirect& redirect, unsigned interface_index, std::uint32_t queue,
              const xsk_socket_config& config, xsk_ring* receive, xsk_ring* transmit);
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  explicit Socket(PrivateDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Status add_umem(const Umem& umem);
  // `option`: XDP_..._RING; `page`: the offset at which it is mapped.
  Status add_ring(int option, std::uint64_t page, std::uint32_t entries, xsk_ring& ring);

  PrivateDescriptor descriptor_;
  std::vector<RingMemory> rings_;
  const Redirect* redirect_ = nullptr;
  std::uint32_t queue_ = 0;
};

}  // namespace tfabric::nic::xdp
