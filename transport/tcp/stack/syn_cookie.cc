#include "transport/tcp/stack/syn_cookie.h"

#include <algorithm>
#include <cstring>

#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {
namespace {

constexpr Duration kTick = SynCookies::kLifetime / 2;
constexpr std::uint32_t kMssBits = 3, kClockBits = 1;
constexpr std::uint32_t kMssMask = (1u << kMssBits) - 1;

// The peer's MSS is rounded down to one of these: the least that is accepted, the defaults of RFC 9293 for
// IPv4 and RFC 8200 for IPv6, tunnels, Ethernet for both, jumbo frames. The last index stands for our own
// MSS, which few peers exceed.
constexpr std::array<std::uint16_t, kMssMask> kMss = {kLeastMss, 536, 1220, 1360, 1440, 1460, 8940};
constexpr std::uint8_t kOwnMss = kMssMask;

// In the lowest bits of a timestamp.
constexpr std::uint32_t kPackedBits = 6;
constexpr std::uint8_t kScaleMask = 0x0f, kNoScale = 0x0f, kSack = 0x10, kEcn = 0x20;

std::uint8_t mss_index(std::uint16_t offered, std::uint16_t own) {
  const std::uint16_t mss = std::max(offered == 0 ? kDefaultMss : offered, kLeastMss);
  if (mss >= own) {
    return kOwnMss;
  }
  const auto above = std::upper_bound(kMss.begin(), kMss.end(), mss);
  return static_cast<std::uint8_t>(above - kMss.begin() - 1);
}

// Returns the latest timestamp, not after now, with these lowest bits: the clock must not seem to go back
// when the connection sends its next segment (RFC 7323 §5).
std::uint32_t pack(std::uint8_t packed, Instant now) {
  const std::uint32_t time = timestamp(now);
  const std::uint32_t candidate = (time >> kPackedBits << kPackedBits) | packed;
  return candidate <= time ? candidate : candidate - (1u << kPackedBits);
}

std::uint32_t tick_of(Instant now) { return static_cast<std::uint32_t>(now.time_since_epoch() / kTick); }

}  // namespace

Seq SynCookies::sequence(const FlowTableKey& flow, const Covered& covered, std::uint32_t tick) const {
  std::array<std::byte, 47> bytes;
  const std::uint32_t irs = covered.irs.raw();
  const std::array<std::uint8_t, 3> rest = {covered.mss_index, covered.packed,
                                            static_cast<std::uint8_t>(covered.timestamps)};
  std::memcpy(bytes.data(), flow.local.data(), 16);
  std::memcpy(bytes.data() + 16, flow.remote.data(), 16);
  std::memcpy(bytes.data() + 32, &flow.ports.local, 2);
  std::memcpy(bytes.data() + 34, &flow.ports.remote, 2);
  std::memcpy(bytes.data() + 36, &irs, 4);
  std::memcpy(bytes.data() + 40, &tick, 4);
  std::memcpy(bytes.data() + 44, rest.data(), 3);
  const auto hash = static_cast<std::uint32_t>(siphash64(key_, bytes));
  return Seq((hash << (kMssBits + kClockBits)) | ((tick & 1) << kMssBits) | covered.mss_index);
}

SegmentOut SynCookies::answer(const Options& options, const FlowTableKey& flow, const SegmentIn& syn,
                              Instant now) const {
  const bool timestamps = options.timestamps && syn.has_timestamps;
  const bool sack = timestamps && options.sack && syn.sack_permitted;
  const bool scaled = timestamps && syn.window_scale >= 0;
  constexpr std::uint8_t kAsksEcn = flag::ece | flag::cwr;
  const bool ecn = timestamps && options.ecn && (syn.flags & kAsksEcn) == kAsksEcn;
  const auto scale = scaled ? static_cast<std::uint8_t>(syn.window_scale) : kNoScale;
  const auto packed =
      static_cast<std::uint8_t>(timestamps ? scale | (sack ? kSack : 0) | (ecn ? kEcn : 0) : 0);

  const Covered covered{.irs = syn.seq,
                        .mss_index = mss_index(syn.mss, options.mss),
                        .packed = packed,
                        .timestamps = timestamps};
  SegmentOut out;
  out.source_port = syn.destination_port;
  out.destination_port = syn.source_port;
  out.seq = sequence(flow, covered, tick_of(now));
  out.ack = syn.seq + 1;
  out.flags = flag::syn | flag::ack | (ecn ? flag::ece : 0);
  out.window = static_cast<std::uint16_t>(std::min(options.receive_buffer, 65535u));
  const std::uint8_t own_scale = window_scale_for(options.receive_buffer);
  put_syn_options(out, {.mss = options.mss,
                        .sack = sack,
                        .timestamps = timestamps,
                        .ts_val = pack(packed, now),
                        .ts_ecr = syn.ts_val,
                        .window_scale = scaled && (own_scale > 0 || scale > 0) ? own_scale : -1});
  return out;
}

std::optional<SynCookies::Handshake> SynCookies::recall(const Options& options, const FlowTableKey& flow,
                                                        const SegmentIn& ack, Instant now) const {
  if ((ack.flags & (flag::syn | flag::ack | flag::rst)) != flag::ack) {
    return std::nullopt;
  }
  Handshake found{.syn = {}, .iss = ack.ack - 1u};
  const bool timestamps = options.timestamps && ack.has_timestamps;
  const auto packed = static_cast<std::uint8_t>(timestamps ? ack.ts_ecr & ((1u << kPackedBits) - 1) : 0);
  const Covered covered{.irs = ack.seq - 1u,
                        .mss_index = static_cast<std::uint8_t>(found.iss.raw() & kMssMask),
                        .packed = packed,
                        .timestamps = timestamps};
  // The cookie is of this tick or of the one before it.
  const std::uint32_t tick = tick_of(now);
  const std::uint32_t given = tick - ((tick ^ (found.iss.raw() >> kMssBits)) & 1);
  if (sequence(flow, covered, given) != found.iss) {
    return std::nullopt;
  }
  SegmentIn& syn = found.syn;
  syn.source_port = ack.source_port;
  syn.destination_port = ack.destination_port;
  syn.seq = covered.irs;
  syn.flags = flag::syn;
  syn.window = ack.window;
  syn.mss = covered.mss_index == kOwnMss ? options.mss : kMss[covered.mss_index];
  if (timestamps) {
    syn.has_timestamps = true;
    syn.ts_val = ack.ts_val;
    syn.sack_permitted = (packed & kSack) != 0;
    syn.flags |= (packed & kEcn) != 0 ? flag::ece | flag::cwr : 0;
    if ((packed & kScaleMask) != kNoScale) {
      syn.window_scale = static_cast<std::int8_t>(packed & kScaleMask);
    }
  }
  return found;
}

}  // namespace tfabric::stack
