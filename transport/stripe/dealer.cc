#include "transport/stripe/dealer.h"

#include <algorithm>
#include <cassert>

namespace tfabric::stripe {
namespace {

// A lane with less room than this, or than what is left, gets no piece: the message waits for room.
constexpr std::uint32_t kLeastRoom = 32u << 10;
static_assert(kLeastRoom >= kMaxEagerBytes);  // so that a lane with room takes small messages whole

}  // namespace

Dealer::Dealer(std::uint32_t piece_bytes) : piece_bytes_(piece_bytes) {
  assert(piece_bytes % kLineBytes == 0 && piece_bytes > 0);
}

void Dealer::look(std::span<const Outlet> outlets) {
  open_ = 0;
  usual_rate_ = 1;
  for (std::size_t i = 0; i < outlets.size(); ++i) {
    if (outlets[i].lane != nullptr) {
      ++open_;
      last_ = i;
      usual_rate_ = std::max(usual_rate_, outlets[i].rate);
    }
  }
}

std::optional<Dealer::Deal> Dealer::next(std::span<const Outlet> outlets, std::uint32_t remaining,
                                         bool whole) const {
  if (open_ == 0) {
    return std::nullopt;
  }
  const auto [lane, room] =
      open_ == 1 ? std::pair(last_, outlets[last_].lane->look().room) : first_there(outlets, remaining);
  if (room < std::min(remaining, kLeastRoom)) {
    return std::nullopt;
  }
  std::uint32_t most = std::min(remaining, room);
  if (open_ > 1 && !whole) {
    most = std::min(most, piece_bytes_);
  }
  return Deal{lane, most == remaining ? most : most / kLineBytes * kLineBytes};
}

std::pair<std::size_t, std::uint32_t> Dealer::first_there(std::span<const Outlet> outlets,
                                                          std::uint32_t remaining) const {
  const double size = std::min(remaining, piece_bytes_);
  std::pair<std::size_t, std::uint32_t> best;
  std::optional<double> earliest;
  for (std::size_t i = 0; i < outlets.size(); ++i) {
    if (outlets[i].lane == nullptr) {
      continue;
    }
    const LaneRoom room = outlets[i].lane->look();
    const std::uint64_t rate = outlets[i].rate == 0 ? usual_rate_ : outlets[i].rate;
    const double finish = (static_cast<double>(room.queued) + size) / static_cast<double>(rate);
    if (!earliest || finish < *earliest) {
      best = {i, room.room};
      earliest = finish;
    }
  }
  return best;
}

}  // namespace tfabric::stripe
