// The connecting end of a lane until it is welcomed (hello.h).
//
// Until then, whoever answers at the peer's address may be anybody: nothing but a welcome that is signed may
// come, and all else ends the lane, and never the comm.
#pragma once

#include <span>

#include "base/result.h"
#include "transport/engine/turn.h"
#include "transport/lane/flow_reader.h"
#include "transport/session/hello.h"
#include "transport/stripe/message.h"

namespace tfabric::session {

class LaneOpening final : public lane::ControlSink {
 public:
  // The comm whose lane it is.
  class Opener {
   public:
    // The listener has welcomed the lane, or says that the comm is gone. `proof` is what it waits for.
    virtual Status on_welcome(stripe::LaneId lane, const Welcome& welcome, const Tag& proof) TF_IN_TURN = 0;

   protected:
    ~Opener() = default;
  };

  LaneOpening(Opener& opener, stripe::LaneId lane, const Hello& hello)
      : opener_(&opener), lane_(lane), token_(hello.token), hello_(encode(hello)) {}

  // The record's body that the lane begins with.
  [[nodiscard]] const HelloBytes& hello() const { return hello_; }

  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN;

 private:
  Opener* opener_;
  stripe::LaneId lane_;
  Token token_;
  HelloBytes hello_;
};

}  // namespace tfabric::session
