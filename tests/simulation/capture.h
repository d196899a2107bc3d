// All packets of a run as a pcapng file, for Wireshark and tshark: raw IPv4, one interface for each host and
// rail, in nanoseconds of virtual time. Host h has 10.RAIL.0.(h+1) in a rail.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "observe/pcapng.h"
#include "tests/simulation/observer.h"

namespace tfabric::simulation {

class Capture final : public Observer {
 public:
  void sent(const Packet& packet, Instant now) override;
  void received(const Packet& packet, Instant now) override;
  // False if the file cannot be written.
  [[nodiscard]] bool save(const std::string& path) const;
  [[nodiscard]] const Bytes& bytes() const { return file_.bytes(); }

 private:
  void add(const Packet& packet, Address at, bool outbound, Instant now);
  std::uint32_t interface_for(Address address);

  observe::Pcapng file_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> interfaces_;  // by host and rail
};

// The hash of when and what every host has sent and received; payloads count by their length.
class PacketHash final : public Observer {
 public:
  void sent(const Packet& packet, Instant now) override { add(packet, now); }
  void received(const Packet& packet, Instant now) override { add(packet, now); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add(const Packet& packet, Instant now);

  std::uint64_t value_ = 14695981039346656037u;  // FNV-1a
};

}  // namespace tfabric::simulation
