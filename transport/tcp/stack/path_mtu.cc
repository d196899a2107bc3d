#include "transport/tcp/stack/path_mtu.h"

#include <algorithm>

namespace tfabric::stack {
namespace {

// The headers of IPv6 and TCP; those of IPv4 are smaller.
constexpr std::uint32_t kHeaders = 60;
// RFC 8899 §5.1.2: BASE_PLPMTU. IPv6's least MTU (RFC 8200 §5) passes wherever anything does.
constexpr std::uint32_t kBase = 1280 - kHeaders;
// MTUs in use: of tunnels over Ethernet, Ethernet, and clouds' gateways and networks with jumbo frames.
constexpr std::array<std::uint32_t, 7> kSteps{kBase,           1400 - kHeaders, 1460 - kHeaders,
                                              1500 - kHeaders, 4096 - kHeaders, 8500 - kHeaders,
                                              8896 - kHeaders};
constexpr std::uint32_t kBlackHole = 3;                      // time-outs; Linux's tcp_retries1
constexpr std::uint32_t kMaxProbes = 3;                      // RFC 8899 §5.1.2: MAX_PROBES
constexpr Duration kRaiseTimer = std::chrono::seconds(600);  // RFC 8899 §5.1.1: PMTU_RAISE_TIMER

}  // namespace

bool PathMtu::on_timeout(std::uint32_t size) {
  forget_probe();
  if (std::min(size, mss_) <= kBase || ++timeouts_ < kBlackHole) {
    return false;
  }
  mss_ = kBase;
  timeouts_ = 1;  // no probe before a segment of this size has arrived
  lost_probes_ = 0;
  search_at_ = {};
  return true;
}

void PathMtu::on_too_big(std::uint32_t mss, Instant now) {
  mss_ = std::min(mss_, mss);
  forget_probe();
  search_at_ = now + kRaiseTimer;
}

std::optional<std::uint32_t> PathMtu::wanted_probe(Instant now) const {
  if (mss_ == largest_ || timeouts_ > 0 || probe_start_ != kNone || now < search_at_) {
    return std::nullopt;
  }
  const auto* const step = std::upper_bound(kSteps.begin(), kSteps.end(), mss_);
  return step == kSteps.end() ? largest_ : std::min(*step, largest_);
}

void PathMtu::on_probe_arrived(Instant now) {
  mss_ = std::max(mss_, probe_size_);
  limited_ = false;
  forget_probe();
  lost_probes_ = 0;
  search_at_ = now;
}

void PathMtu::on_probe_lost(Instant now) {
  forget_probe();
  if (++lost_probes_ >= kMaxProbes) {
    lost_probes_ = 0;
    search_at_ = now + kRaiseTimer;
    limited_ = true;
  }
}

}  // namespace tfabric::stack
