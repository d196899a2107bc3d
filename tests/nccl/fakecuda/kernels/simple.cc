// The Simple protocol: whole slices in the slots of a FIFO, with counters of steps beside it.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/nccl/fakecuda/kernels/fifo.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"
#include "tests/nccl/fakecuda/kernels/scribble.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

bool pooled(const Side& side) {
  return side.conn->fifo != nullptr && FifoSlot(*side.conn, side.step).pooled();
}

char* slot_data(const Side& side) {
  char* buffer = side.conn->buffers[kSimple];
  if (pooled(side)) {
    return buffer + FifoSlot(*side.conn, side.step).offset();
  }
  return buffer + side.slot() * static_cast<std::uint64_t>(side.conn->step_size);
}

class Simple final : public Primitives {
 public:
  Simple(const Block& block, const Reduction& reduction, const Wiring& wiring, const SimpleOptions& options)
      : Primitives(block, reduction),
        slices_(options.slices),
        steps_(static_cast<std::uint64_t>(options.steps)),
        step_elements_(step_bytes(block, options) / element_bytes_),
        registered_(options.registered) {
    const std::uint64_t unit = static_cast<std::uint64_t>(slices_) * steps_;
    const auto rounded = [&](std::uint64_t step) { return (step + unit - 1) / unit * unit; };
    for (Conn* conn : wiring.receive) {
      add_receiver({conn, rounded(conn->step)});
    }
    for (Conn* conn : wiring.send) {
      senders_.push_back({conn, rounded(conn->step)});
      scribble_sent(senders_.back());
    }
  }

  void run(const Operation& operation) override {
    const std::int64_t count = std::max<std::int64_t>(operation.count, 0);
    const std::int64_t parts = std::int64_t{16} * slices_;
    const std::int64_t slice =
        std::max((count + parts - 1) / parts * 16, step_elements_ * static_cast<std::int64_t>(steps_) / 32);
    std::int64_t offset = 0;
    for (int i = 0; i < slices_; ++i) {
      const std::int64_t length = std::min(slice, count - offset);
      const auto moved = [&](auto* data) {
        return data != nullptr ? data + offset * element_bytes_ : nullptr;
      };
      Operation part = operation;
      part.src = moved(operation.src);
      part.dst = moved(operation.dst);
      part.direct = moved(operation.direct);
      part.count = length;
      run_slice(part);
      offset += length;
    }
  }

  // The network reads from the user's buffer, which is the application's again when the kernel ends.
  void finish() override {
    if (!registered_) {
      return;
    }
    for (const Side& side : senders_) {
      const FifoSlot last(*side.conn, side.step - steps_);
      block_.wait_until([&] { return load_acquire(last.size()) == -1; });
    }
  }

 private:
  static std::int64_t step_bytes(const Block& block, const SimpleOptions& options) {
    return options.step_bytes != 0 ? options.step_bytes : block.comm.buffer_bytes[kSimple] / kSlots;
  }

  void add_receiver(const Side& side) {
    receivers_.push_back(side);
    store_release(*side.conn->head, side.step);  // hand back the steps that rounding skips
    if (!registered_) {
      return;
    }
    if ((side.conn->flags & kNicIsDirect) == 0) {
      die("registered buffers on a connection whose NIC does not reach device memory");
    }
    // Allows the proxy to write to the user's buffer from now on.
    store_release(FifoSlot(*side.conn, side.step).size(), std::int64_t{0});
  }

  [[nodiscard]] bool scribbles_sent(const Side& side) const {
    return scribbling() && !registered_ && !pooled(side);
  }

  void scribble_sent(const Side& side) const {
    if (!scribbles_sent(side)) {
      return;
    }
    SentSlots& sent = sent_slots(side.conn);
    const std::uint64_t head = std::min(load_acquire(*side.conn->head), side.step);
    for (; sent.next < head; ++sent.next) {
      const std::uint64_t slot = sent.next % kSlots;
      if (sent.bytes[slot] > 0 && sent.next + kSlots >= side.step) {
        char* data = side.conn->buffers[kSimple] + slot * static_cast<std::uint64_t>(side.conn->step_size);
        scribble(data, sent.bytes[slot]);
      }
      sent.bytes[slot] = 0;
    }
  }

  void run_slice(const Operation& slice) {
    if (slice.receive) {
      for (const Side& side : receivers_) {
        block_.wait_until([&] { return load_acquire(*side.conn->tail) >= side.step + steps_; });
      }
    }
    if (slice.send) {
      for (const Side& side : senders_) {
        prepare_slot(side, slice.count);
      }
    }
    if (slice.count > 0 && registered_) {
      move_registered(slice);
    } else if (slice.count > 0) {
      move_staged(slice);
    }
    if (slice.receive) {
      for (Side& side : receivers_) {
        store_release(*side.conn->head, side.step += steps_);
      }
    }
    if (slice.send) {
      for (Side& side : senders_) {
        store_release(*side.conn->tail, side.step += steps_);
      }
    }
  }

  void prepare_slot(const Side& side, std::int64_t count) const {
    wait_for_room(side, steps_);
    scribble_sent(side);
    if (scribbles_sent(side)) {
      sent_slots(side.conn).bytes[side.slot()] = bytes(count);
    }
    if (side.conn->fifo != nullptr) {
      // The proxy reads it after the tail, which is stored with release.
      std::atomic_ref(FifoSlot(*side.conn, side.step).size())
          .store(count * element_bytes_, std::memory_order_relaxed);
    }
  }

  // The network reads from and writes to the user's buffers itself.
  void move_registered(const Operation& slice) const {
    const auto count = static_cast<std::size_t>(slice.count);
    if (!slice.receive) {
      if (slice.src != nullptr && slice.dst != nullptr) {
        reduction_.load(slice.dst, slice.src, count);
      }
      return;
    }
    if (slice.direct == nullptr) {
      return;
    }
    if (slice.src != nullptr) {
      std::string own(slice.src, bytes(slice.count));
      if (slice.src_is_input) {
        reduction_.load(own.data(), slice.src, count);
      }
      reduction_.combine(slice.direct, own.data(), slice.direct, count);
    }
    if (slice.finish) {
      reduction_.finish(slice.direct, count);
    }
    if (slice.dst != nullptr && slice.dst != slice.direct) {
      std::memcpy(slice.dst, slice.direct, bytes(slice.count));
    }
  }

  // The result is made in the first slot it leaves by, or in the output if it stays here.
  void move_staged(const Operation& slice) const {
    const auto count = static_cast<std::size_t>(slice.count);
    const std::size_t size = bytes(slice.count);
    const bool sends = slice.send && !senders_.empty();
    char* out = sends ? slot_data(senders_.front()) : slice.dst;
    std::size_t first = 0;
    if (slice.src == nullptr) {
      std::memmove(out, slot_data(receivers_.front()), size);
      first = 1;
    } else if (slice.src_is_input) {
      reduction_.load(out, slice.src, count);
    } else if (out != slice.src) {
      std::memmove(out, slice.src, size);
    }
    if (slice.receive) {
      for (std::size_t i = first; i < receivers_.size(); ++i) {
        reduction_.combine(out, slot_data(receivers_[i]), out, count);
      }
    }
    if (slice.finish) {
      reduction_.finish(out, count);
    }
    if (slice.dst != nullptr && slice.dst != out) {
      std::memcpy(slice.dst, out, size);
    }
    for (std::size_t i = 1; sends && i < senders_.size(); ++i) {
      std::memcpy(slot_data(senders_[i]), out, size);
    }
    if (slice.receive && scribbling()) {
      for (const Side& side : receivers_) {
        scribble(slot_data(side), size);
      }
    }
  }

  int slices_;
  std::uint64_t steps_;
  std::int64_t step_elements_;
  bool registered_;
};

}  // namespace

std::unique_ptr<Primitives> make_simple(const Block& block, const Reduction& reduction, const Wiring& wiring,
                                        const SimpleOptions& options) {
  return std::make_unique<Simple>(block, reduction, wiring, options);
}

}  // namespace fakecuda::kernels
