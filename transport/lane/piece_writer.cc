#include "transport/lane/piece_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "transport/lane/record.h"

namespace tfabric::lane {
namespace {

// A piece that fits with its header into one range of the send queue is copied there.
constexpr std::uint32_t kInlinePiece = engine::ByteStream::kInlineBytes - kRecordHeaderBytes;
static_assert(engine::ByteStream::kInlineBytes >= kLargePieceHeaderBytes);

}  // namespace

stripe::LaneRoom room_for_pieces(const engine::ByteStream& stream) {
  const std::uint32_t room = stream.send_room();
  constexpr auto kHeader = static_cast<std::uint32_t>(kLargePieceHeaderBytes);
  return {.queued = stream.stream_written() - stream.stream_acked(),
          .room = room > kHeader ? room - kHeader : 0};
}

std::optional<stripe::Span> write_piece(engine::ByteStream& stream, const stripe::Piece& piece) {
  const stripe::Outgoing& message = *piece.message;
  const RecordHeader fields{.type = RecordType::piece,
                            .index = message.index,
                            .tag = message.tag,
                            .group = message.group,
                            .length = piece.length,
                            .total = message.size,
                            .offset = piece.offset};
  const RecordHeaderBytes header = encode(fields);
  std::array<std::byte, engine::ByteStream::kInlineBytes> bytes;
  std::memcpy(bytes.data(), header.data(), header.size());
  if (piece.length <= kInlinePiece) {
    if (piece.length > 0) {
      std::memcpy(bytes.data() + header.size(), piece.data(), piece.length);
    }
    if (!stream.send_inline(std::span(bytes).first(header.size() + piece.length))) {
      return std::nullopt;
    }
  } else {
    // Two ranges go or none: a header without its bytes would end the framing.
    const std::span<std::byte> whole = std::span(bytes).first(header_bytes_of(fields));
    std::ranges::fill(whole.subspan(header.size()), std::byte{0});
    if (!stream.can_send_ranges(2) || !stream.send_inline(whole)) {
      return std::nullopt;
    }
    const bool sent = stream.send({piece.data(), piece.length, message.owner});
    assert(sent);
    static_cast<void>(sent);
  }
  const std::uint64_t end = stream.stream_written();
  return stripe::Span{end - piece.length, end};
}

}  // namespace tfabric::lane
