// The LL protocol: 8 bytes of data travel in a line of 16, each half followed by a flag that tells the step
// it belongs to.
#include <algorithm>
#include <cstring>

#include "tests/nccl/fakecuda/kernels/fifo.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"

namespace fakecuda::kernels {
namespace {

constexpr std::int64_t kLlLineBytes = 16, kLlDataBytes = 8;

class LL final : public Primitives {
 public:
  LL(const Block& block, const Reduction& reduction, const Wiring& wiring)
      : Primitives(block, reduction), slot_lines_(block.comm.buffer_bytes[kLL] / kSlots / kLlLineBytes) {
    for (Conn* conn : wiring.receive) {
      receivers_.push_back({conn, conn->step});
    }
    for (Conn* conn : wiring.send) {
      senders_.push_back({conn, conn->step});
    }
  }

  void run(const Operation& operation) override {
    const std::int64_t count = std::max<std::int64_t>(operation.count, 0);
    const std::int64_t per_line = kLlDataBytes / element_bytes_;
    const std::int64_t lines = (count + per_line - 1) / per_line;
    if (operation.send) {
      for (const Side& side : senders_) {
        wait_for_room(side, 1);
        if (side.conn->fifo != nullptr) {
          store_release(FifoSlot(*side.conn, side.step).size(),
                        (cleans(side.step) ? slot_lines_ : lines) * kLlLineBytes);
        }
      }
    }
    for (std::int64_t line = 0; line < lines; ++line) {
      run_line(operation, line, std::min(per_line, count - line * per_line));
    }
    if (operation.receive) {
      for (Side& side : receivers_) {
        store_release(*side.conn->head, ++side.step);
      }
    }
    if (operation.send) {
      for (Side& side : senders_) {
        for (std::int64_t line = lines; cleans(side.step) && line < slot_lines_; ++line) {
          put(side, line, 0);
        }
        ++side.step;
      }
    }
  }

 private:
  // Flags have 32 bits: before they repeat, every line of every slot is rewritten once, so that none left
  // over from the round before is taken for a new one.
  static bool cleans(std::uint64_t step) { return (step & 0x7ffffff8) == 0x7ffffff8; }

  void run_line(const Operation& operation, std::int64_t line, std::int64_t count) const {
    const auto whole = static_cast<std::size_t>(kLlDataBytes / element_bytes_);
    std::uint64_t value = 0;
    bool have = false;
    if (operation.src != nullptr) {
      std::memcpy(&value, operation.src + line * kLlDataBytes, bytes(count));
      if (operation.src_is_input) {
        const std::uint64_t own = value;
        reduction_.load(&value, &own, whole);
      }
      have = true;
    }
    if (operation.receive) {
      for (const Side& side : receivers_) {
        const std::uint64_t received = get(side, line);
        if (have) {
          reduction_.combine(&value, &received, &value, whole);
        } else {
          value = received;
        }
        have = true;
      }
    }
    if (operation.finish) {
      reduction_.finish(&value, whole);
    }
    if (operation.send) {
      for (const Side& side : senders_) {
        put(side, line, value);
      }
    }
    if (operation.dst != nullptr) {
      std::memcpy(operation.dst + line * kLlDataBytes, &value, bytes(count));
    }
  }

  [[nodiscard]] std::uint64_t* at(const Side& side, std::int64_t line) const {
    const std::int64_t index = static_cast<std::int64_t>(side.slot()) * slot_lines_ + line;
    return reinterpret_cast<std::uint64_t*>(side.conn->buffers[kLL] + index * kLlLineBytes);
  }

  static std::uint64_t flag(const Side& side) { return static_cast<std::uint32_t>(side.step + 1); }

  [[nodiscard]] std::uint64_t get(const Side& side, std::int64_t line) const {
    std::uint64_t* words = at(side, line);
    std::uint64_t low = 0, high = 0;
    block_.wait_until([&] {
      low = load_acquire(words[0]);
      high = load_acquire(words[1]);
      return low >> 32 == flag(side) && high >> 32 == flag(side);
    });
    return static_cast<std::uint32_t>(low) | high << 32;
  }

  void put(const Side& side, std::int64_t line, std::uint64_t value) const {
    std::uint64_t* words = at(side, line);
    store_release(words[0], flag(side) << 32 | static_cast<std::uint32_t>(value));
    store_release(words[1], flag(side) << 32 | value >> 32);
  }

  std::int64_t slot_lines_;
};

}  // namespace

std::unique_ptr<Primitives> make_ll(const Block& block, const Reduction& reduction, const Wiring& wiring) {
  return std::make_unique<LL>(block, reduction, wiring);
}

}  // namespace fakecuda::kernels
