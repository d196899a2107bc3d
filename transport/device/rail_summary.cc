#include "transport/device/rail_summary.h"

#include <fmt/format.h>

namespace tfabric::device {
namespace {

// Says nothing of a network that loses next to nothing.
std::string again(const RailSummary& summary) {
  constexpr double kLeastPercent = 0.005;
  const std::uint64_t once = summary.payload - summary.repeated;
  const double percent =
      once == 0 ? 0 : 100 * static_cast<double>(summary.repeated) / static_cast<double>(once);
  return percent < kLeastPercent ? "" : fmt::format(", {:.2f} % of it again", percent);
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
double gigabytes(std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-9; }

// Of a moment, it would say nothing.
std::string rate(const RailSummary& summary) {
  if (summary.busy < std::chrono::seconds(1)) {
    return "";
  }
  constexpr int kBitsOfByte = 8;
  return fmt::format(", {:.2f} Gbit/s while it did",
                     kBitsOfByte * gigabytes(summary.sent + summary.received) / seconds(summary.busy));
}

}  // namespace

std::string to_string(const RailSummary& summary) {
  std::string text = fmt::format("rail {}: ", summary.rail);
  if (summary.counts_bytes) {
    text += fmt::format("{:.2f} GB sent{}, {:.2f} GB received{}; ", gigabytes(summary.sent), again(summary),
                        gigabytes(summary.received), rate(summary));
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
    text +=
        fmt::format(", without a connection to a peer for {:.1f} s at most", seconds(summary.losses.longest));
  }
  return text;
}

std::string to_string(const JobSummary& summary) {
  // Less than that takes no time worth a number.
  constexpr std::uint64_t kLeast = 100'000'000;
  std::string text = fmt::format("in all: {:.2f} GB", gigabytes(summary.bytes));
  if (summary.bytes >= kLeast && summary.cpu > Duration::zero()) {
    text += fmt::format(", {:.3f} s of CPU for each", seconds(summary.cpu) / gigabytes(summary.bytes));
  }
  return text + fmt::format("; the longest time in which nothing moved of a channel that waited was {:.1f} s",
                            seconds(summary.longest_wait));
}

}  // namespace tfabric::device
