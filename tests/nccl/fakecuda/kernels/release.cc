#include "tests/nccl/fakecuda/kernels/release.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "tests/nccl/fakecuda/environment.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

// Each is named after the first release that has it. Up to 2.30 they were computed from the headers of the
// release, and those of 2.31 and 2.32 found in what libnccl writes for operations of known parameters.
constexpr Layout k2_22{
    .comm = {.consumed = 32, .abort_flag = 48, .channels = 56},
    .fifo = {.offset = 4, .size = 8, .bytes = 24},
    .channel = {.tree = 32, .bytes = 368},
    .collective = {.out = 8, .counts = 24, .bytes = 64, .registered_bytes = 256},
    .functions = {.types = 10, .gather_algorithms = 3, .has_all_gather_v = false},
    .does = {.network_registration = false, .average_has_sign = false, .parts_reversed = true}};
constexpr Layout k2_23{.comm = {.consumed = 40, .abort_flag = 56, .channels = 64},
                       .fifo = k2_22.fifo,
                       .channel = k2_22.channel,
                       .collective = {.out = 8, .counts = 56, .bytes = 96, .registered_bytes = 288},
                       .functions = {.types = 10, .gather_algorithms = 4, .has_all_gather_v = false},
                       .does = k2_22.does};
constexpr Layout k2_24{
    .comm = k2_23.comm,
    .fifo = k2_23.fifo,
    .channel = k2_23.channel,
    .collective = k2_23.collective,
    .functions = {.types = 12, .gather_algorithms = 4, .has_all_gather_v = false},
    .does = {.network_registration = true, .average_has_sign = true, .parts_reversed = true}};
constexpr Layout k2_25{.comm = k2_24.comm,
                       .fifo = k2_24.fifo,
                       .channel = {.tree = 32, .bytes = 352},
                       .collective = k2_24.collective,
                       .functions = k2_24.functions,
                       .does = k2_24.does};
constexpr Layout k2_26{.comm = k2_25.comm,
                       .fifo = k2_25.fifo,
                       .channel = {.tree = 32, .bytes = 368},
                       .collective = k2_25.collective,
                       .functions = k2_25.functions,
                       .does = k2_25.does};
constexpr Layout k2_27{.comm = {.consumed = kNone, .abort_flag = 48, .channels = 56},
                       .fifo = k2_26.fifo,
                       .channel = k2_26.channel,
                       .collective = k2_26.collective,
                       .functions = k2_26.functions,
                       .does = k2_26.does};
constexpr Layout k2_28{
    .comm = k2_27.comm,
    .fifo = k2_27.fifo,
    .channel = k2_27.channel,
    .collective = k2_27.collective,
    .functions = k2_27.functions,
    .does = {.network_registration = true, .average_has_sign = true, .parts_reversed = false}};
constexpr Layout k2_29{.comm = k2_28.comm,
                       .fifo = k2_28.fifo,
                       .channel = {.tree = 40, .bytes = 368},
                       .collective = k2_28.collective,
                       .functions = {.types = 12, .gather_algorithms = 4, .has_all_gather_v = true},
                       .does = k2_28.does};
constexpr Layout k2_30{.comm = k2_29.comm,
                       .fifo = k2_29.fifo,
                       .channel = k2_29.channel,
                       .collective = {.out = 24, .counts = 80, .bytes = 128, .registered_bytes = 320},
                       .functions = k2_29.functions,
                       .does = k2_29.does};
constexpr Layout k2_31{.comm = k2_30.comm,
                       .fifo = {.offset = 8, .size = 16, .bytes = 32},
                       .channel = k2_30.channel,
                       .collective = k2_30.collective,
                       .functions = k2_30.functions,
                       .does = k2_30.does};
constexpr Layout k2_32{.comm = k2_31.comm,
                       .fifo = k2_31.fifo,
                       .channel = k2_31.channel,
                       .collective = k2_29.collective,
                       .functions = k2_31.functions,
                       .does = k2_31.does};

struct Release {
  int version;  // as ncclGetVersion has it
  const Layout* layout;
};

// Those with which all collectives were run; tests/lib/nccl_releases.py has the same.
constexpr Release kReleases[] = {{22203, &k2_22}, {22304, &k2_23}, {22403, &k2_24}, {22501, &k2_25},
                                 {22605, &k2_26}, {22707, &k2_27}, {22809, &k2_28}, {22907, &k2_29},
                                 {23007, &k2_30}, {23102, &k2_31}, {23203, &k2_32}};

int loaded_version() {
  auto* get = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  int version = 0;
  if (get == nullptr || get(&version) != 0) {
    die("ncclGetVersion was not found");
  }
  return version;
}

const Layout& find_layout() {
  const int version = loaded_version();
  const auto* later = std::ranges::upper_bound(kReleases, version, {}, &Release::version);
  const Release& nearest = later == std::begin(kReleases) ? *later : *std::prev(later);
  if (nearest.version != version && env_int("FAKECUDA_ANY_NCCL", 0) == 0) {
    std::string known;
    for (const Release& release : kReleases) {
      known += fmt::format(" {}", release.version);
    }
    die("NCCL {}: its kernels' layouts are not known, only those of{} (FAKECUDA_ANY_NCCL=1 takes those of "
        "{})",
        version, known, nearest.version);
  }
  trace(1, "kernels of NCCL {}", nearest.version);
  return *nearest.layout;
}

}  // namespace

const Layout& layout() {
  static const Layout& found = find_layout();
  return found;
}

}  // namespace fakecuda::kernels
