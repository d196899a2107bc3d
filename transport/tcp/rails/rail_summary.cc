#include "transport/tcp/rails/rail_summary.h"

#include <fmt/format.h>

namespace tfabric::tcp {
namespace {

// Says nothing of a network that loses next to nothing.
std::string again(const RailSummary& summary) {
  constexpr double kLeastPercent = 0.005;
  const std::uint64_t once = summary.payload - summary.repeated;
  const double percent =
      once == 0 ? 0 : 100 * static_cast<double>(summary.repeated) / static_cast<double>(once);
  return percent < kLeastPercent ? "" : fmt::format(", {:.2f} % of it again", percent);
}

}  // namespace

std::string to_string(const RailSummary& summary) {
  const auto gigabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  std::string text = fmt::format("rail {}: ", summary.rail);
  if (summary.counts_bytes) {
    text += fmt::format("{:.2f} GB sent{}, {:.2f} GB received; ", gigabytes(summary.sent), again(summary),
                        gigabytes(summary.received));
  }
  if (summary.absences > 0) {
    text += fmt::format("its link was lost {} time(s); ", summary.absences);
  }
  if (summary.losses.connections == 0) {
    return text + "no connection was lost";
  }
  text += fmt::format("{} connection(s) lost, {:.2f} MB sent again", summary.losses.connections,
                      static_cast<double>(summary.losses.bytes) * 1e-6);
  if (summary.losses.longest > Duration::zero()) {
    text += fmt::format(", without a connection to a peer for {:.1f} s at most",
                        std::chrono::duration<double>(summary.losses.longest).count());
  }
  return text;
}

}  // namespace tfabric::tcp
