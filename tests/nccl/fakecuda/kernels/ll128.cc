// The LL128 protocol: lines of 15 words of data and a word of flag, sent in units of 16 lines. The order of
// the data within a unit is not NCCL's, since both ends are emulated.
#include <algorithm>
#include <cstring>

#include "tests/nccl/fakecuda/kernels/fifo.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"

namespace fakecuda::kernels {
namespace {

constexpr std::int64_t kLl128LineBytes = 128, kLl128DataBytes = 120, kUnitLines = 16;
constexpr std::size_t kFlagWord = 15;

class LL128 final : public Primitives {
 public:
  LL128(const Block& block, const Reduction& reduction, const Wiring& wiring)
      : Primitives(block, reduction), slot_bytes_(block.comm.buffer_bytes[kLL128] / kSlots) {
    for (Conn* conn : wiring.receive) {
      receivers_.push_back({conn, conn->step});
    }
    for (Conn* conn : wiring.send) {
      senders_.push_back({conn, conn->step});
    }
  }

  void run(const Operation& operation) override {
    const std::int64_t size = std::max<std::int64_t>(operation.count, 0) * element_bytes_;
    const std::int64_t unit = kLl128DataBytes * kUnitLines;
    const std::int64_t lines = (size + unit - 1) / unit * kUnitLines;
    if (operation.send) {
      for (const Side& side : senders_) {
        wait_for_room(side, 1);
        if (side.conn->fifo != nullptr) {
          store_release(FifoSlot(*side.conn, side.step).size(), lines * kLl128LineBytes);
        }
      }
    }
    for (std::int64_t line = 0; line < lines; ++line) {
      run_line(operation, line, std::clamp<std::int64_t>(size - line * kLl128DataBytes, 0, kLl128DataBytes));
    }
    if (operation.send) {
      for (Side& side : senders_) {
        store_release(*side.conn->tail, ++side.step);
      }
    }
    if (operation.receive) {
      for (Side& side : receivers_) {
        store_release(*side.conn->head, ++side.step);
      }
    }
  }

 private:
  // `size`: of the data in this line, 0 in the lines that fill the unit.
  void run_line(const Operation& operation, std::int64_t line, std::int64_t size) const {
    const auto count = static_cast<std::size_t>(size / element_bytes_);
    alignas(8) char value[kLl128DataBytes] = {};
    alignas(8) char other[kLl128DataBytes];
    bool have = false;
    if (operation.src != nullptr && size > 0) {
      std::memcpy(value, operation.src + line * kLl128DataBytes, static_cast<std::size_t>(size));
      if (operation.src_is_input) {
        std::memcpy(other, value, sizeof other);
        reduction_.load(value, other, count);
      }
      have = true;
    }
    if (operation.receive) {
      for (const Side& side : receivers_) {
        std::uint64_t* words = at(side, line);
        block_.wait_until([&] { return load_acquire(words[kFlagWord]) == side.step + 1; });
        std::memcpy(other, words, sizeof other);
        if (have) {
          reduction_.combine(value, other, value, count);
        } else {
          std::memcpy(value, other, sizeof value);
        }
        have = true;
      }
    }
    if (operation.finish) {
      reduction_.finish(value, count);
    }
    if (operation.send) {
      for (const Side& side : senders_) {
        std::uint64_t* words = at(side, line);
        std::memcpy(words, value, sizeof value);
        store_release(words[kFlagWord], side.step + 1);
      }
    }
    if (operation.dst != nullptr && size > 0) {
      std::memcpy(operation.dst + line * kLl128DataBytes, value, static_cast<std::size_t>(size));
    }
  }

  [[nodiscard]] std::uint64_t* at(const Side& side, std::int64_t line) const {
    const std::int64_t offset = static_cast<std::int64_t>(side.slot()) * slot_bytes_ + line * kLl128LineBytes;
    return reinterpret_cast<std::uint64_t*>(side.conn->buffers[kLL128] + offset);
  }

  std::int64_t slot_bytes_;
};

}  // namespace

std::unique_ptr<Primitives> make_ll128(const Block& block, const Reduction& reduction, const Wiring& wiring) {
  return std::make_unique<LL128>(block, reduction, wiring);
}

}  // namespace fakecuda::kernels
