// A network in virtual time that connects NICs: each has a cable, which can be cut, throttled and lose
// packets, to one switch, which forwards by the IPv4 destination.
//
// The cable toward the switch takes a packet's time at the NIC's rate, and has a queue: what finds it full is
// lost. The other direction is as fast as what comes in. Packets of one cable keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/address.h"
#include "base/random.h"
#include "base/time.h"
#include "transport/tcp/nic/packet_pipe.h"

namespace tfabric::simulation::rails {

struct CableOptions {
  Duration delay = std::chrono::microseconds(20);  // from NIC to NIC
  std::uint64_t rate = 10'000'000'000;             // bits a second
  Duration queue = std::chrono::milliseconds(1);   // how long a packet may wait before the cable
  double loss = 0;                                 // of each packet
};

// What is wrong with a cable.
struct Damage {
  bool no_link = false;     // the NIC sees it
  bool silent_out = false;  // what the NIC sends vanishes
  bool silent_in = false;   // what is sent to it vanishes
  double loss = 0;          // in addition
  std::uint64_t rate = 0;   // instead of the cable's own; 0: that
};

class Network {
 public:
  explicit Network(std::uint64_t seed) : random_(seed) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Returns the NIC, for a port, whose packets come from and go to this address. The network outlives it.
  std::shared_ptr<nic::PacketPipe> add(const net::IpAddress& address, const CableOptions& options);
  [[nodiscard]] std::size_t nics() const { return nics_.size(); }
  // By the order of add().
  void damage(std::size_t nic, const Damage& damage);
  // When the next packet arrives at one of these NICs; kNever if none is under way.
  [[nodiscard]] Instant next_arrival(std::size_t first_nic, std::size_t count) const;
  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  // Bytes of frames that the NIC's cable has carried from it.
  [[nodiscard]] std::uint64_t carried(std::size_t nic) const;

 private:
  class Nic;
  void forward(Nic& from, rte_mbuf* packet);

  SeededRandom random_;
  std::vector<std::shared_ptr<Nic>> nics_;
  std::map<std::uint32_t, Nic*> by_address_;
  std::uint64_t packets_ = 0;
};

}  // namespace tfabric::simulation::rails
