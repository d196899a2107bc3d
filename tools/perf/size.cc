#include "tools/perf/size.h"

namespace tfabric::perf {

std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = min; size <= max;) {
    sizes.push_back(size);
    if (size > max / factor) break;
    size = size == 0 ? 1 : size * factor;
  }
  return sizes;
}

}  // namespace tfabric::perf
