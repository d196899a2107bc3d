// The slots of a connection's FIFO, by which kernel and proxy agree on what is sent and received.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/layout.h"
#include "tests/nccl/fakecuda/kernels/release.h"

namespace fakecuda::kernels {

class FifoSlot {
 public:
  FifoSlot(const Conn& conn, std::uint64_t step) : slot_(conn.fifo + step % kSlots * layout().fifo.bytes) {}

  // The data lies in a pool that the proxy shares out, at offset().
  [[nodiscard]] bool pooled() const { return load_acquire(field<std::int32_t>(0)) == 1; }
  [[nodiscard]] std::int64_t offset() const {
    const auto& at = layout().fifo;
    return at.size - at.offset == sizeof(std::int32_t) ? load_acquire(field<std::int32_t>(at.offset))
                                                       : load_acquire(field<std::int64_t>(at.offset));
  }
  [[nodiscard]] std::int64_t& size() const { return field<std::int64_t>(layout().fifo.size); }

 private:
  template <class T>
  [[nodiscard]] T& field(std::size_t at) const {
    return *reinterpret_cast<T*>(slot_ + at);
  }

  char* slot_;
};

}  // namespace fakecuda::kernels
