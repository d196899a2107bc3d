// What differs between the releases of NCCL whose kernels are emulated: where fields lie in the structures
// that libnccl hands to its kernels, and what these do with them.
#pragma once

#include <cstddef>

namespace fakecuda::kernels {

inline constexpr std::size_t kNone = ~std::size_t{0};

struct Layout {
  // Bytes from the beginning of each structure.
  struct {
    std::size_t consumed, abort_flag, channels;  // kNone: the release has no such field
  } comm;
  struct {
    std::size_t offset, size, bytes;  // the offset reaches to the size
  } fifo;
  struct {
    std::size_t tree, bytes;  // the ring lies before the tree, and its index last in it
  } channel;
  struct {
    std::size_t out, counts, bytes, registered_bytes;  // the input's address follows the output's
  } collective;
  // How the functions are numbered.
  struct {
    int types, gather_algorithms;
    bool has_all_gather_v;
  } functions;
  struct {
    bool network_registration;  // of a collective's buffers; else all registration is local to a node
    bool average_has_sign;      // an integer average's argument is the divisor times two plus one if signed
    bool parts_reversed;        // the parts of a send are given to its channels in bit-reversed order
  } does;
};

// Of the libnccl in this process. Stops the process if its release is not known, unless FAKECUDA_ANY_NCCL=1
// asks for the layout of the one before it.
[[nodiscard]] const Layout& layout();

}  // namespace fakecuda::kernels
