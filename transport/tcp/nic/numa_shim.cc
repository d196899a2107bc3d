// The few functions of libnuma that DPDK's EAL calls, implemented by system calls.
//
// libnuma's static library is not position-independent, and the shared one would be a second file that a
// container may lack (docs/architecture.md). Semantics and struct layout are those of numa(3) and
// set_mempolicy(2).
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {
constexpr unsigned long kMaxNodes = 1024;
constexpr unsigned long kWordBits = 8 * sizeof(unsigned long);
}  // namespace

extern "C" {

struct bitmask {
  unsigned long size;
  unsigned long* maskp;
};

long get_mempolicy(int* mode, unsigned long* nodes, unsigned long max_node, void* address, unsigned flags) {
  return syscall(SYS_get_mempolicy, mode, nodes, max_node, address, flags);
}

long set_mempolicy(int mode, const unsigned long* nodes, unsigned long max_node) {
  return syscall(SYS_set_mempolicy, mode, nodes, max_node);
}

int numa_available() { return get_mempolicy(nullptr, nullptr, 0, nullptr, 0) == 0 ? 0 : -1; }

bitmask* numa_allocate_nodemask() {
  auto* mask = static_cast<bitmask*>(std::malloc(sizeof(bitmask)));
  if (mask == nullptr) {
    return nullptr;
  }
  mask->size = kMaxNodes;
  mask->maskp = static_cast<unsigned long*>(std::calloc(kMaxNodes / kWordBits, sizeof(unsigned long)));
  if (mask->maskp == nullptr) {
    std::free(mask);
    return nullptr;
  }
  return mask;
}

void numa_bitmask_free(bitmask* mask) {
  if (mask != nullptr) {
    std::free(mask->maskp);
    std::free(mask);
  }
}

void numa_set_preferred(int node) {
  unsigned long nodes[kMaxNodes / kWordBits] = {};
  if (node < 0 || static_cast<unsigned long>(node) >= kMaxNodes) {
    set_mempolicy(MPOL_DEFAULT, nullptr, 0);
    return;
  }
  nodes[static_cast<unsigned long>(node) / kWordBits] |= 1ul
                                                         << (static_cast<unsigned long>(node) % kWordBits);
  set_mempolicy(MPOL_PREFERRED, nodes, kMaxNodes);
}

void numa_set_localalloc() { set_mempolicy(MPOL_DEFAULT, nullptr, 0); }

}  // extern "C"
