#include "transport/tcp/net/checksum.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "frames.h"

using namespace tfabric::net;

namespace {

// The stored form as a number, to compare with the reference.
unsigned number(const Checksum& checksum) {
  const std::uint16_t stored = checksum.finish();
  Bytes two(2);
  std::memcpy(two.data(), &stored, 2);
  return at16(two, 0);
}

Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
  Bytes data(size);
  for (auto& byte : data) {
    byte = static_cast<std::byte>(random());
  }
  return data;
}

}  // namespace

TEST_CASE("each length at each alignment agrees with the sum byte by byte") {
  std::mt19937_64 random(2);
  const Bytes data = random_bytes(random, 700);
  for (std::size_t offset = 0; offset < 33; ++offset) {
    for (std::size_t size = 0; size < 600; ++size) {
      Checksum checksum;
      const auto piece = std::span(data).subspan(offset, size);
      checksum.add(piece);
      REQUIRE(number(checksum) == slow_checksum(piece));
    }
  }
}

TEST_CASE("pieces of any length add up to the whole") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3000; ++round) {
    const Bytes data = random_bytes(random, random() % 20000 + 1);
    Checksum checksum;
    for (std::size_t at = 0; at < data.size();) {
      // Many short ones, which take the plain path; some long ones, which take the vector's.
      const std::size_t most = random() % 4 == 0 ? 9000 : 63;
      const std::size_t size = std::min<std::size_t>(random() % (most + 1), data.size() - at);
      checksum.add(std::span(data).subspan(at, size));
      at += size;
    }
    REQUIRE(number(checksum) == slow_checksum(data));
  }
}

TEST_CASE("the plain path and the vector's agree where every carry happens") {
  for (const unsigned fill : {0x00u, 0x01u, 0x80u, 0xfeu, 0xffu}) {
    const Bytes data(65535, static_cast<std::byte>(fill));
    Checksum vector, plain;
    vector.add(data);
    for (std::size_t at = 0; at < data.size(); at += 15) {
      plain.add(std::span(data).subspan(at, std::min<std::size_t>(15, data.size() - at)));
    }
    REQUIRE(number(vector) == slow_checksum(data));
    REQUIRE(number(plain) == slow_checksum(data));
  }
}

TEST_CASE("over data with their own checksum the sum is 0") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 1000; ++round) {
    Bytes data = random_bytes(random, 20 + random() % 3000);
    set16(data, 16, 0);
    Checksum checksum;
    checksum.add(data);
    const std::uint16_t stored = checksum.finish();
    std::memcpy(&data[16], &stored, 2);
    Checksum again;
    again.add(data);
    REQUIRE(again.finish() == 0);
    data[random() % data.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    Checksum changed;
    changed.add(data);
    REQUIRE(changed.finish() != 0);
  }
}

TEST_CASE("the pseudo-header of both families") {
  std::mt19937_64 random(5);
  for (const auto& [source, destination] : {std::pair{our4(), peer4()}, std::pair{our6(), peer6()}}) {
    for (const std::size_t size : {0u, 1u, 20u, 1460u, 65535u, 70001u}) {
      const Bytes data = random_bytes(random, size);
      Checksum checksum;
      checksum.add_pseudo_header(source, destination, 6, static_cast<std::uint32_t>(size));
      checksum.add(data);
      REQUIRE(number(checksum) == slow_checksum(source, destination, 6, data));
    }
  }
}
