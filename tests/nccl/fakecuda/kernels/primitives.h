// The building block of collectives. Each of the three wire protocols offers one operation:
//   [receive] -> [combine with src] -> [store to dst] -> [send]
// The steps of a connection that a communicator's earlier kernels took are continued from, and given back by
// the destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/layout.h"
#include "tests/nccl/fakecuda/kernels/reduction.h"

namespace fakecuda::kernels {

struct Operation {
  bool receive = false;
  bool send = false;
  const char* src = nullptr;
  bool src_is_input = false;  // the user's input, which is subject to pre-scaling, not its output
  char* dst = nullptr;
  std::int64_t count = 0;  // elements; less than 0 counts as 0
  bool finish = false;     // the sum is complete with this
  // The place in the user's output where the network puts what it receives, and takes what it forwards, if
  // the user's buffers are registered with it.
  char* direct = nullptr;
};

// One end of a connection as a kernel uses it.
struct Side {
  Conn* conn;
  std::uint64_t step;

  [[nodiscard]] std::uint64_t slot() const { return step % kSlots; }
};

class Primitives {
 public:
  Primitives(const Block& block, const Reduction& reduction)
      : block_(block),
        reduction_(reduction),
        element_bytes_(static_cast<std::int64_t>(type_bytes(reduction.type))) {}
  Primitives(const Primitives&) = delete;
  Primitives& operator=(const Primitives&) = delete;
  virtual ~Primitives() {
    for (const auto* sides : {&receivers_, &senders_}) {
      for (const Side& side : *sides) {
        side.conn->step = side.step;
      }
    }
  }

  virtual void run(const Operation& operation) = 0;
  // Before the kernel may end.
  virtual void finish() {}

 protected:
  [[nodiscard]] std::size_t bytes(std::int64_t count) const {
    return static_cast<std::size_t>(count * element_bytes_);
  }
  void wait_for_room(const Side& side, std::uint64_t steps) const {
    block_.wait_until([&] { return load_acquire(*side.conn->head) + kSlots >= side.step + steps; });
  }

  const Block& block_;
  Reduction reduction_;
  std::int64_t element_bytes_;
  std::vector<Side> receivers_, senders_;
};

struct Wiring {
  std::vector<Conn*> receive, send;
};

struct SimpleOptions {
  int slices = 1;               // of an operation, each its own message
  int steps = 1;                // that a slice takes
  std::int64_t step_bytes = 0;  // 0: the communicator's
  bool registered = false;      // the user's buffers are, with the network
};

std::unique_ptr<Primitives> make_simple(const Block& block, const Reduction& reduction, const Wiring& wiring,
                                        const SimpleOptions& options);
std::unique_ptr<Primitives> make_ll(const Block& block, const Reduction& reduction, const Wiring& wiring);
std::unique_ptr<Primitives> make_ll128(const Block& block, const Reduction& reduction, const Wiring& wiring);
std::unique_ptr<Primitives> make_primitives(int protocol, const Block& block, const Reduction& reduction,
                                            const Wiring& wiring, const SimpleOptions& options);

}  // namespace fakecuda::kernels
