// Any bytes as input of the RDMA bootstrap. The first byte chooses: a handle, an offer, or a
// connection's bytes, which arrive in pieces of that size; or an end of a pair, or what is said of a rail.
// What is read must be writable to the same bytes, and two offers must lead to one agreement.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/fuzz/require.h"
#include "transport/rdma/pairs/port_group.h"
#include "transport/rdma/session/agreement.h"
#include "transport/rdma/session/handle.h"
#include "transport/rdma/session/message.h"

using namespace tfabric;
using namespace tfabric::rdma::session;

namespace {

constexpr std::uint64_t kToken = 0;
constexpr std::uint8_t kHandle = 0, kPair = 253, kRail = 254, kOffer = 255;

void try_handle(std::span<const std::byte> bytes) {
  std::array<std::byte, transport::kHandleBytes> given{}, written{};
  std::memcpy(given.data(), bytes.data(), std::min(bytes.size(), given.size()));
  if (const auto handle = read_handle(given)) {
    TFABRIC_REQUIRE(!handle->addresses.empty() && handle->addresses.size() <= kMaxHandleAddresses);
    write_handle(*handle, written);
    TFABRIC_REQUIRE(read_handle(written)->addresses == handle->addresses);
  }
}

void try_offer(std::span<const std::byte> bytes, std::vector<Offer>& offers) {
  const auto offer = parse_offer(bytes);
  if (!offer) {
    return;
  }
  const std::vector<std::byte> again = encode(*offer);
  TFABRIC_REQUIRE(std::equal(bytes.begin(), bytes.end(), again.begin(), again.end()));
  offers.push_back(*offer);
  for (const Offer& other : offers) {
    const auto forth = agree(*offer, other), back = agree(other, *offer);
    TFABRIC_REQUIRE(forth.ok() == back.ok());
    TFABRIC_REQUIRE(!forth.ok() || forth->rails.size() == back->rails.size());
  }
}

void try_connection(std::span<const std::byte> bytes, std::size_t piece) {
  MessageReader reader(kToken);
  std::vector<Offer> offers;
  while (!bytes.empty()) {
    TFABRIC_REQUIRE(reader.wanted() > 0 && reader.wanted() <= kMessageHeaderBytes + kMaxOfferBytes);
    const std::size_t count = std::min({piece, reader.wanted(), bytes.size()});
    if (!reader.take(bytes.first(count))) {
      return;
    }
    bytes = bytes.subspan(count);
    if (const auto message = reader.next()) {
      try_offer(message->body, offers);
    }
  }
}

void try_pair(std::span<const std::byte> bytes) {
  if (const auto end = rdma::pairs::decode_end(bytes)) {
    const auto again = rdma::pairs::decode_end(rdma::pairs::encode(*end));
    TFABRIC_REQUIRE(again && again->queue_pair.number == end->queue_pair.number && again->key == end->key &&
                    again->memory == end->memory && again->port.gid == end->port.gid);
  }
}

void try_rail(std::span<const std::byte> bytes) {
  rdma::pairs::PortGroup group({});
  group.add({.about = {.hca = "mlx5_0", .queue_pairs = {}, .keys = {}}});
  std::vector<std::vector<std::byte>> texts{{bytes.begin(), bytes.end()}, group.describe(0)};
  if (const auto meeting = group.meet(texts)) {
    TFABRIC_REQUIRE(meeting->size() == 1 && (!meeting->front() || *meeting->front() < texts.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const std::byte> rest = std::as_bytes(std::span(data, size)).subspan(1);
  std::vector<Offer> offers;
  if (data[0] == kHandle) {
    try_handle(rest);
  } else if (data[0] == kPair) {
    try_pair(rest);
  } else if (data[0] == kRail) {
    try_rail(rest);
  } else if (data[0] == kOffer) {
    try_offer(rest, offers);
  } else {
    try_connection(rest, data[0]);
  }
  return 0;
}
