#include "tools/wire/emulator/mac_table.h"

namespace tfabric::wire {
namespace {

std::uint64_t number_of(const net::MacAddress& station) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : station.bytes) {
    number = number << 8 | byte;
  }
  return number;
}

}  // namespace

void MacTable::learn(const net::MacAddress& station, std::size_t port) {
  if (station.is_group()) {
    return;
  }
  if (const auto known = ports_.find(number_of(station)); known != ports_.end()) {
    known->second = port;
  } else if (ports_.size() < kMaxStations) {
    ports_.emplace(number_of(station), port);
  }
}

std::optional<std::size_t> MacTable::port_of(const net::MacAddress& station) const {
  const auto known = ports_.find(number_of(station));
  return known == ports_.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace tfabric::wire
