#include "transport/lane/offers.h"

#include <algorithm>
#include <array>

#include "base/wire_codec.h"

namespace tfabric::lane {
namespace {

// number, count | text; serial, rail, three zeros | text
constexpr std::size_t kRailBytes = 2, kOfferBytes = 8;
static_assert(kRailBytes + kMaxRailText <= kMaxControlBytes &&
              kOfferBytes + kMaxOfferText <= kMaxControlBytes);

template <std::size_t kBytes>
std::vector<std::byte> with_text(RecordType type, const std::array<std::byte, kBytes>& head,
                                 std::span<const std::byte> text) {
  std::array<std::byte, kMaxControlBytes> body;
  WireWriter wire(body);
  wire.bytes(head).bytes(text);
  return encode_record(type, std::span(body).first(wire.offset()));
}

}  // namespace

std::vector<std::byte> encode(const RailRecord& rail) {
  std::array<std::byte, kRailBytes> head;
  WireWriter(head).u8(rail.number).u8(rail.count);
  return with_text(RecordType::rail, head, rail.text);
}

std::vector<std::byte> encode(RecordType type, const OfferRecord& offer) {
  std::array<std::byte, kOfferBytes> head;
  WireWriter(head).u32(offer.serial.value).u8(offer.rail).unused(3);
  return with_text(type, head, offer.text);
}

std::optional<RailRecord> decode_rail(std::span<const std::byte> body) {
  RailRecord rail;
  if (!WireReader(body).u8(rail.number).u8(rail.count).ok() || rail.count > kMaxKeys ||
      rail.number >= std::max<std::uint8_t>(rail.count, 1)) {
    return std::nullopt;
  }
  rail.text = body.subspan(kRailBytes);
  return rail;
}

std::optional<OfferRecord> decode_offer(std::span<const std::byte> body) {
  OfferRecord offer;
  if (!WireReader(body).u32(offer.serial.value).u8(offer.rail).unused(3).ok() || offer.serial.value == 0) {
    return std::nullopt;
  }
  offer.text = body.subspan(kOfferBytes);
  return offer;
}

}  // namespace tfabric::lane
