// Pieces on a byte stream: each is a record, and its positions are those of its bytes. Used with the engine
// held.
#pragma once

#include <optional>

#include "transport/engine/byte_stream.h"
#include "transport/engine/turn.h"
#include "transport/stripe/lane.h"

namespace tfabric::lane {

// As stripe::Lane::look() and give().
[[nodiscard]] stripe::LaneRoom room_for_pieces(const engine::ByteStream& stream) TF_IN_TURN;
std::optional<stripe::Span> write_piece(engine::ByteStream& stream, const stripe::Piece& piece) TF_IN_TURN;

}  // namespace tfabric::lane
