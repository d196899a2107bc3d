// Decides whether a connection that is being opened keeps its local port, or is opened from another one.
//
// The port determines by which queue of either NIC the connection's packets come in, by hashes that are not
// known. A packet in another engine's queue has to be handed over, which costs more in total than opening the
// connection again does once. The SYN-ACK shows how both directions are: it came in by the right queue of
// this host or not, and it carries a hint by which queue the SYN came in at the peer. The peer's direction
// counts more, because NCCL's data flows from the connector to the listener, and only acknowledgements come
// back.
//
// No I/O and no ports of its own. The number of tries is bounded.
#pragma once

#include <cstdint>

namespace tfabric::link {

// By this window field in its SYN-ACK, a tfabric listener says that the SYN came in by another engine's
// queue. It is two bytes less than the usual value, and so has no meaning for other peers. Another peer may
// send it by chance, which costs a few tries.
inline constexpr std::uint16_t kElsewhereWindow = 65533;

class PortTrial {
 public:
  explicit PortTrial(std::uint16_t engines);

  // Whether each direction came in by the queue of the engine that it is for.
  struct Answer {
    bool here = false;
    bool there = false;
  };
  enum class Verdict : std::uint8_t {
    keep,     // the connection goes on
    another,  // open it from another port
    best,     // open it from best(), and keep that
  };
  Verdict judge(std::uint16_t port, const Answer& answer);
  // Returns the first of the best ports that were tried.
  [[nodiscard]] std::uint16_t best() const { return best_; }

 private:
  int tries_left_;
  int best_score_ = -1;
  std::uint16_t best_ = 0;
  bool decided_ = false;
};

}  // namespace tfabric::link
