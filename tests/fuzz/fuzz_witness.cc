// What strangers and peers send to the witness: openings, records, and contacts in handshakes.
#include <algorithm>
#include <cstdint>
#include <span>

#include "tests/fuzz/require.h"
#include "transport/witness/message.h"

using namespace tfabric::witness;

namespace {

constexpr Token kKey{std::byte{7}};

void read_opening(std::span<const std::byte, kOpeningBytes> bytes) {
  const auto opening = decode_opening(bytes);
  if (!opening) {
    return;
  }
  TFABRIC_REQUIRE(opening->process != 0 && opening->who.rank >= -1 && opening->who.host.size() <= 64);
  TFABRIC_REQUIRE(std::all_of(opening->who.host.begin(), opening->who.host.end(),
                              [](char c) { return c > ' ' && c < 0x7f; }));
  TFABRIC_REQUIRE(!is_signed(bytes, kKey));
  const auto again = decode_opening(encode(*opening, kKey));
  TFABRIC_REQUIRE(again && again->who == opening->who && again->nonce == opening->nonce &&
                  again->process == opening->process && again->purpose == opening->purpose);
  TFABRIC_REQUIRE(!to_string(opening->who).empty());
}

void read_record(std::span<const std::byte, kRecordBytes> bytes) {
  if (const auto record = decode_record(bytes)) {
    const auto again = decode_record(encode(*record));
    TFABRIC_REQUIRE(again == record);
  }
}

void read_contact(std::span<const std::byte, kContactBytes> bytes) {
  Contact contact;
  TFABRIC_REQUIRE(lay_out(tfabric::WireReader(bytes), contact));
  std::array<std::byte, kContactBytes> again;
  TFABRIC_REQUIRE(lay_out(tfabric::WireWriter(again), contact));
  TFABRIC_REQUIRE(std::equal(bytes.begin(), bytes.end(), again.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.size() >= kOpeningBytes) {
    read_opening(bytes.first<kOpeningBytes>());
  }
  if (bytes.size() >= kRecordBytes) {
    read_record(bytes.first<kRecordBytes>());
  }
  if (bytes.size() >= kContactBytes) {
    read_contact(bytes.first<kContactBytes>());
  }
  return 0;
}
