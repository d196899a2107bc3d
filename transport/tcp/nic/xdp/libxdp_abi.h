// The memory layouts and functions that DPDK's driver net_af_xdp shares with libxdp and libbpf, as in
// Debian's libxdp 1.3.1 and libbpf 1.1, with which its archive was built. libxdp_shim.cc defines the
// functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// A ring shared with the kernel: the layout of xsk_ring_prod and of xsk_ring_cons. The driver accesses it
// with inline code that was compiled into it.
struct xsk_ring {
  std::uint32_t cached_prod;
  std::uint32_t cached_cons;  // for a ring that is filled here, the kernel's index plus the ring's size
  std::uint32_t mask;
  std::uint32_t size;
  std::uint32_t* producer;
  std::uint32_t* consumer;
  void* ring;
  std::uint32_t* flags;
};
static_assert(sizeof(xsk_ring) == 48 && offsetof(xsk_ring, size) == 12 &&
              offsetof(xsk_ring, producer) == 16 && offsetof(xsk_ring, ring) == 32 &&
              offsetof(xsk_ring, flags) == 40);

struct xsk_umem_config {
  std::uint32_t fill_size;
  std::uint32_t comp_size;
  std::uint32_t frame_size;
  std::uint32_t frame_headroom;
  std::uint32_t flags;
};
static_assert(sizeof(xsk_umem_config) == 20);

struct xsk_socket_config {
  std::uint32_t rx_size;
  std::uint32_t tx_size;
  std::uint32_t libxdp_flags;
  std::uint32_t xdp_flags;
  std::uint16_t bind_flags;
};
static_assert(sizeof(xsk_socket_config) == 20 && offsetof(xsk_socket_config, bind_flags) == 16);

struct xsk_umem;
struct xsk_socket;

// All return 0, or -errno.
int xsk_umem__create(xsk_umem** umem, void* area, std::uint64_t size, xsk_ring* fill, xsk_ring* completion,
                     const xsk_umem_config* config);
int xsk_umem__delete(xsk_umem* umem);
int xsk_socket__create(xsk_socket** socket, const char* interface, std::uint32_t queue, xsk_umem* umem,
                       xsk_ring* receive, xsk_ring* transmit, const xsk_socket_config* config);
void xsk_socket__delete(xsk_socket* socket);
int xsk_socket__fd(const xsk_socket* socket);

}  // extern "C"
