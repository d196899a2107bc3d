// A host: the ends of its flows, driven in turns as the engine drives them. Packets that have arrived,
// timers, the applications, then a bounded number of segments of each to the wires.
#pragma once

#include <memory>
#include <vector>

#include "tests/simulation/endpoint.h"
#include "tests/simulation/observer.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/wire.h"

namespace tfabric::simulation {

class Host final : public Output {
 public:
  // `in` and `out`: by rail, borrowed, as is `observer`, which may be null.
  Host(const HostOptions& options, std::vector<Wire*> in, std::vector<Wire*> out, Observer* observer,
       Instant start, Random random);

  Endpoint& add(const EndpointOptions& options, Place place, Instant start);
  void turn(Instant now);
  [[nodiscard]] Instant next_turn() const;
  // Undamaged packets that belong to no endpoint.
  [[nodiscard]] std::uint64_t strays() const { return strays_; }

  Wire::Fate send(Packet packet, Instant now) override;
  [[nodiscard]] const Wire& first_wire(std::uint32_t rail) const override { return *out_[rail]; }

 private:
  struct Seat {
    std::unique_ptr<Endpoint> endpoint;
    Instant next_event{};
    bool heard = false;        // a packet has come in this turn
    bool more_output = false;  // it was cut short by segments_per_turn
  };

  void receive_all(Instant now);
  [[nodiscard]] Seat* seat_for(const Packet& packet);

  HostOptions options_;
  std::vector<Wire*> in_, out_;
  Observer* observer_;
  Random random_;
  std::vector<Seat> seats_;
  Instant last_turn_;
  std::uint64_t strays_ = 0;
};

}  // namespace tfabric::simulation
