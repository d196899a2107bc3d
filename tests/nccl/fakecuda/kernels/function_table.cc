// NCCL numbers the most general table of functions by rows, and maps each row to the id of an equivalent
// function that was compiled (ncclDevFuncRowToId). Here that map is inverted.
#include "tests/nccl/fakecuda/kernels/function_table.h"

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "tests/nccl/fakecuda/kernels/layout.h"
#include "tests/nccl/fakecuda/kernels/release.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/symbols.h"

namespace fakecuda::kernels {
namespace {

// Numbers beyond NCCL's own, for algorithms that are not emulated; all that matters is that none is kRing.
constexpr int kOther = 10;

class Table {
 public:
  explicit Table(std::span<const std::byte> ids) : ids_(ids.size() / sizeof(int)) {
    std::memcpy(ids_.data(), ids.data(), ids_.size() * sizeof(int));
    add({.collective = Collective::send_recv, .algorithm = kRing, .protocol = kSimple});
    add_algorithms(Collective::all_gather, ReduceOp::sum, Type::i8);
    add_protocols({.collective = Collective::broadcast, .algorithm = kRing});
    if (layout().functions.has_all_gather_v) {
      add_protocols({.collective = Collective::all_gather_v, .algorithm = kRing});
    }
    for_each_reduction([&](ReduceOp op, Type type) {
      for (int algorithm = 0; algorithm < 6; ++algorithm) {
        add_protocols({Collective::all_reduce, op, type, algorithm});
      }
    });
    for_each_reduction([&](ReduceOp op, Type type) { add_protocols({Collective::reduce, op, type, kRing}); });
    for_each_reduction([&](ReduceOp op, Type type) { add_algorithms(Collective::reduce_scatter, op, type); });
    // One more ends libnccl's table.
    if (row_ + 1 != ids_.size()) {
      die("ncclDevFuncRowToId has {} rows, not {}: its layout is not known", ids_.size(), row_ + 1);
    }
    trace(2, "function table: {} rows, {} ids", row_, functions_.size());
  }

  [[nodiscard]] const Function* find(unsigned id) const {
    return id < functions_.size() && functions_[id] ? &*functions_[id] : nullptr;
  }

 private:
  template <class Add>
  static void for_each_reduction(Add add) {
    for (int op = 0; op < static_cast<int>(ReduceOp::count); ++op) {
      for (int type = 0; type < layout().functions.types; ++type) {
        add(static_cast<ReduceOp>(op), static_cast<Type>(type));
      }
    }
  }

  void add_algorithms(Collective collective, ReduceOp op, Type type) {
    for (int i = 0; i < layout().functions.gather_algorithms; ++i) {
      add_protocols({collective, op, type, i == 0 ? kRing : kOther + i});
    }
  }

  void add_protocols(Function function) {
    for (function.protocol = 0; function.protocol < kProtocols; ++function.protocol) {
      add(function);
    }
  }

  void add(const Function& function) {
    const int id = row_ < ids_.size() ? ids_[row_] : -1;
    ++row_;
    if (id < 0) {
      return;
    }
    const auto at = static_cast<std::size_t>(id);
    if (at >= functions_.size()) {
      functions_.resize(at + 1);
    }
    if (!functions_[at]) {
      functions_[at] = function;
    }
  }

  std::vector<int> ids_;
  std::size_t row_ = 0;
  std::vector<std::optional<Function>> functions_;
};

std::span<const std::byte> row_ids() {
  const auto ids = symbol_data("ncclDevFuncRowToId");
  if (ids.empty()) {
    die("ncclDevFuncRowToId was not found in libnccl");
  }
  return ids;
}

}  // namespace

const Function& find_function(unsigned id) {
  static const Table table(row_ids());
  const Function* function = table.find(id);
  if (function == nullptr) {
    die("unknown device function {}", id);
  }
  return *function;
}

}  // namespace fakecuda::kernels
