// Which frames are lost: single ones, and bursts (E. N. Gilbert 1960).
//
// The model has a good and a bad state. In the good state a frame begins a burst with probability `burst`, in
// the bad one, in which all frames are lost, it ends the burst with probability 1 / `burst_length`. The share
// of frames in bursts is therefore burst / (burst + 1 / burst_length).
#pragma once

#include <cstdint>

#include "base/random.h"
#include "tests/wire/emulator/impairments.h"

namespace tfabric::wire {

class LossModel {
 public:
  enum class Verdict : std::uint8_t { pass, lost, lost_in_burst };

  explicit LossModel(SeededRandom random) : states_(random.fork()), frames_(random.fork()) {}

  // Decides about the next frame.
  Verdict next(const Impairments& impairments) {
    if (impairments.burst <= 0) {
      in_burst_ = false;
    } else {
      in_burst_ =
          in_burst_ ? !states_.chance(1 / impairments.burst_length) : states_.chance(impairments.burst);
    }
    if (in_burst_) {
      return Verdict::lost_in_burst;
    }
    return impairments.loss > 0 && frames_.chance(impairments.loss) ? Verdict::lost : Verdict::pass;
  }

 private:
  SeededRandom states_, frames_;
  bool in_burst_ = false;
};

}  // namespace tfabric::wire
