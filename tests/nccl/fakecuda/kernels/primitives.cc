#include "tests/nccl/fakecuda/kernels/primitives.h"

#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {

std::unique_ptr<Primitives> make_primitives(int protocol, const Block& block, const Reduction& reduction,
                                            const Wiring& wiring, const SimpleOptions& options) {
  switch (protocol) {
    case kLL:
      return make_ll(block, reduction, wiring);
    case kLL128:
      return make_ll128(block, reduction, wiring);
    case kSimple:
      return make_simple(block, reduction, wiring, options);
    default:
      die("protocol {} is not known", protocol);
  }
}

}  // namespace fakecuda::kernels
