#include "transport/stripe/dealer.h"

#include <algorithm>
#include <cassert>

namespace tfabric::stripe {
namespace {

// A lane with less room than this, or than what is left, gets no piece: the message waits for room.
constexpr std::uint32_t kLeastRoom = 32u << 10;
static_assert(kLeastRoom >= kMaxEagerBytes);  // so that a lane with room takes small messages whole

// A piece is what its lane delivers in this time: for so long a slow lane may hold up a message whose other
// pieces are there. Below some size, pieces cost more than they bring.
constexpr double kPieceSeconds = 0.002;
constexpr std::uint32_t kLeastPiece = 16u << 10;
// A lane of which nothing is known gets no more than this beside others: it may be a slow one.
constexpr std::uint64_t kTrial = 128u << 10;

// Returns the size of a piece on this lane.
std::uint32_t piece_on(const Outlet& outlet) {
  const double due = static_cast<double>(outlet.rate) * kPieceSeconds;
  if (outlet.rate == 0 || due >= outlet.piece_bytes) {
    return outlet.piece_bytes;
  }
  return std::max(static_cast<std::uint32_t>(due), std::min(kLeastPiece, outlet.piece_bytes));
}

}  // namespace

void Dealer::look(std::span<const Outlet> outlets) {
  open_ = 0;
  usual_rate_ = 1;
  for (std::size_t i = 0; i < outlets.size(); ++i) {
    if (outlets[i].lane != nullptr) {
      assert(outlets[i].piece_bytes % kLineBytes == 0 && outlets[i].piece_bytes > 0);
      ++open_;
      last_ = i;
      usual_rate_ = std::max(usual_rate_, outlets[i].rate);
    }
  }
}

std::optional<Dealer::Deal> Dealer::next(std::span<const Outlet> outlets, const Outgoing& message,
                                         std::uint32_t remaining, bool whole) const {
  if (open_ == 0) {
    return std::nullopt;
  }
  const std::optional<Choice> choice =
      open_ == 1 ? alone(outlets, message, remaining) : choose(outlets, message, remaining, whole);
  if (!choice || choice->room < std::min(remaining, kLeastRoom)) {
    return std::nullopt;
  }
  const std::uint32_t most = std::min(choice->room, choice->piece);
  return Deal{choice->lane, most == remaining ? most : most / kLineBytes * kLineBytes};
}

std::optional<Dealer::Choice> Dealer::alone(std::span<const Outlet> outlets, const Outgoing& message,
                                            std::uint32_t remaining) const {
  const LaneRoom room = outlets[last_].lane->look(message);
  return room.takes ? std::optional(Choice{last_, room.room, remaining}) : std::nullopt;
}

std::optional<Dealer::Choice> Dealer::choose(std::span<const Outlet> outlets, const Outgoing& message,
                                             std::uint32_t remaining, bool whole) const {
  std::optional<Choice> best;
  double earliest = 0;
  for (std::size_t i = 0; i < outlets.size(); ++i) {
    const Outlet& outlet = outlets[i];
    if (outlet.lane == nullptr) {
      continue;
    }
    const LaneRoom room = outlet.lane->look(message);
    if (!room.takes) {
      continue;
    }
    std::uint32_t piece = whole ? remaining : std::min(remaining, piece_on(outlet));
    if (outlet.rate == 0) {
      if (room.queued + std::min(piece, kLeastPiece) > kTrial) {
        continue;
      }
      piece = whole ? piece : std::min(piece, static_cast<std::uint32_t>(kTrial - room.queued));
    }
    const std::uint64_t rate = outlet.rate == 0 ? usual_rate_ : outlet.rate;
    const double finish =
        (static_cast<double>(room.queued) + piece) / static_cast<double>(rate) + outlet.latency;
    const bool probe = outlet.probe && !whole && room.room >= piece;
    if (probe || !best || finish < earliest) {
      best = Choice{i, room.room, piece};
      earliest = finish;
    }
    if (probe) {
      break;
    }
  }
  return best;
}

}  // namespace tfabric::stripe
