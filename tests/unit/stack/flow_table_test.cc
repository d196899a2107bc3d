#include "transport/tcp/stack/flow_table.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

using namespace tfabric::stack;

namespace {
FlowTableKey key_of(std::uint32_t number) {
  FlowTableKey key{};
  key.local[0] = static_cast<std::byte>(number >> 24);
  key.remote[15] = static_cast<std::byte>(number >> 16);
  key.ports = {static_cast<std::uint16_t>(number >> 8), static_cast<std::uint16_t>(number)};
  return key;
}
}  // namespace

TEST_CASE("the table finds what a map finds, through growth and removals") {
  const unsigned seed = GENERATE(range(1u, 11u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::array<std::byte, 16> secret{};
  secret[0] = static_cast<std::byte>(seed);
  FlowTable<int> table(secret);
  std::map<std::uint32_t, int*> model;
  std::vector<int> values(300);
  for (int step = 0; step < 20000; ++step) {
    // Few enough to meet again, and different in each part of the key.
    const std::uint32_t number = (random() % 300) * 0x01010101u;
    const FlowTableKey key = key_of(number);
    if (const auto found = model.find(number); found == model.end()) {
      REQUIRE(table.find(key) == nullptr);
      table.erase(key);
      int* value = &values[random() % values.size()];
      table.insert(key, value);
      model[number] = value;
    } else {
      REQUIRE(table.find(key) == found->second);
      if (random() % 2 == 0) {
        table.erase(key);
        model.erase(found);
      }
    }
    REQUIRE(table.size() == model.size());
  }
  for (const auto& [number, value] : model) {
    REQUIRE(table.find(key_of(number)) == value);
  }
}

TEST_CASE("what was found lately is not found any more once it is erased") {
  FlowTable<int> table({});
  int first = 1, second = 2;
  table.insert(key_of(1), &first);
  REQUIRE(table.find(key_of(1)) == &first);
  table.erase(key_of(1));
  REQUIRE(table.find(key_of(1)) == nullptr);
  table.insert(key_of(1), &second);
  REQUIRE(table.find(key_of(1)) == &second);
}
