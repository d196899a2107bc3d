#include "transport/tcp/stack/siphash.h"

#include <array>
#include <catch2/catch.hpp>

#include "transport/tcp/stack/connection.h"

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

namespace {
std::array<std::byte, 16> counting() {
  std::array<std::byte, 16> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  return bytes;
}
}  // namespace

TEST_CASE("SipHash-2-4 gives the values of its authors") {
  // Key 00 01 .. 0f, input 00 01 .. of the given length. That of 15 bytes is appendix A of the paper.
  const auto [length, expected] = GENERATE(table<std::size_t, std::uint64_t>({{0, 0x726fdb47dd0e0e31u},
                                                                              {1, 0x74f839c593dc67fdu},
                                                                              {2, 0x0d6c8009d9a94f5au},
                                                                              {7, 0xab0200f58b01d137u},
                                                                              {8, 0x93f5f5799a932462u},
                                                                              {15, 0xa129ca6149be45e5u}}));
  const auto bytes = counting();
  REQUIRE(siphash64(make_sip_key(bytes), std::span(bytes).first(length)) == expected);
}

TEST_CASE("initial sequence numbers tick every 4 us and differ between connections and secrets") {
  const auto address = counting();
  const SequenceGenerator generator(address);
  const Instant now(1h);
  const Seq first = generator.initial(address, address, {1, 2}, now);
  REQUIRE(generator.initial(address, address, {1, 2}, now + 4us) - first == 1);
  REQUIRE(generator.initial(address, address, {1, 2}, now + 1s) - first == 250'000);
  REQUIRE(generator.initial(address, address, {2, 1}, now) != first);
  REQUIRE(generator.initial(address, address, {1, 3}, now) != first);
  auto other = address;
  other[15] ^= std::byte{1};
  REQUIRE(generator.initial(address, other, {1, 2}, now) != first);
  REQUIRE(SequenceGenerator(other).initial(address, address, {1, 2}, now) != first);
}
