// F-RTO (RFC 5682): whether a retransmission time-out was spurious. After the first segment has been
// repeated, its acknowledgement is answered by new data instead of more repetitions; if the next
// acknowledgement covers something that was never repeated, the originals were only late.
#pragma once

#include <cstdint>

namespace tfabric::stack {

class Frto {
 public:
  // The timer has expired for the first time for this data (step 1).
  void start() { step_ = Step::first_ack; }
  void stop() { step_ = Step::off; }

  struct Ack {
    bool advances = false;          // snd_una has moved
    bool reports = false;           // a duplicate, or SACK has told of something new
    bool covers_all = false;        // everything that was in flight at the time-out is acknowledged
    bool original_arrived = false;  // something is acknowledged or reported that was sent once, before it
    bool new_data = false;          // there is some, and the peer can take it
  };
  // Returns true if the time-out was spurious.
  bool on_ack(const Ack& ack) {
    if (step_ == Step::off || (!ack.advances && !ack.reports)) {
      return false;
    }
    if (step_ == Step::first_ack) {
      // Step 2: new data if the acknowledgement is a new one, else it is an ordinary recovery.
      const bool go_on = ack.advances && !ack.covers_all && ack.new_data;
      step_ = go_on ? Step::second_ack : Step::off;
      new_segments_ = go_on ? 2 : 0;
      return false;
    }
    step_ = Step::off;  // step 3
    return ack.original_arrived;
  }

  // Nothing else is repeated meanwhile.
  [[nodiscard]] bool holds_retransmissions() const { return step_ != Step::off; }
  // A segment of new data is to go out, whatever the window.
  [[nodiscard]] bool wants_new_segment() const { return step_ == Step::second_ack && new_segments_ > 0; }
  void on_new_segment() { new_segments_ -= new_segments_ > 0 ? 1 : 0; }

 private:
  enum class Step : std::uint8_t { off, first_ack, second_ack };
  Step step_ = Step::off;
  std::uint32_t new_segments_ = 0;
};

}  // namespace tfabric::stack
