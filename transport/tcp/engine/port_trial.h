// Whether a connection that is being opened keeps its local port, or tries another one.
//
// The port decides by which queue of either NIC the connection's packets come in, by hashes that nobody
// tells. A packet in another engine's queue is handed over, which costs more for each of them than opening
// anew does once. So the first answer is looked at: the SYN-ACK came in here by the right queue or not, and
// carries a hint of how the SYN fared there. What comes in there counts more: NCCL's data goes from who
// connects to who listens, and only acknowledgements come back.
//
// No I/O and no ports of its own: it is told, and decides. The number of tries is bounded.
#pragma once

#include <cstdint>

namespace tfabric::engine {

// By the window field of its SYN-ACK a listener of our kind says that the SYN came in by another engine's
// queue. It is within two bytes of what would stand there otherwise, and so means nothing to others; by
// others it may be sent by chance, which costs a few tries.
inline constexpr std::uint16_t kElsewhereWindow = 65533;

class PortTrial {
 public:
  explicit PortTrial(std::uint16_t engines);

  // How both directions came in: by the queue of the engine they are for, or not.
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
  // Of the ports that were tried, the first of the best ones.
  [[nodiscard]] std::uint16_t best() const { return best_; }

 private:
  int tries_left_;
  int best_score_ = -1;
  std::uint16_t best_ = 0;
  bool decided_ = false;
};

}  // namespace tfabric::engine
