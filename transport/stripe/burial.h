// How the two ends of a comm settle what a lane has brought, before it is forgotten.
//
// A lane dies at one end first: its link goes, its connection is reset or times out, or it is given up for
// being slow. False alarms are allowed. The sender's end then deals nothing more to it and asks, over every
// living lane, for the lane's position (`bury`). The receiver's end closes the lane, takes nothing more of
// it, so that its position is final, and answers over every living lane, also unasked (`buried`). What lies
// behind that position is dealt again, before the sender says that it has the answer (`settled`). All of
// these are repeated on each lane that opens, until answered; any of them may come twice.
//
// A lane that moves memory by itself is fenced first, which may take a while: neither end says anything of it
// before its own fence is through, and the sender settles nothing, whatever it has heard.
//
// These classes keep the books of both ends; closing lanes and sending records is the comm's business. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "transport/stripe/message.h"

namespace tfabric::stripe {

// The sender's end: lanes that it has closed, and whose position it does not know.
class Burials {
 public:
  // A lane that is to be settled now, at the position that the receiver has said.
  struct Settlement {
    LaneId lane;
    std::uint64_t position = 0;
  };

  // The lane is closed at this end. `fenced`: and it moves no memory any more; otherwise fenced() follows.
  void begin(LaneSerial serial, LaneId lane, bool fenced);
  // The lane's fence is through. Returns what is to be settled, if the receiver has answered before;
  // otherwise it has to be asked.
  std::optional<Settlement> fenced(LaneSerial serial);
  // The receiver has answered. Returns what is to be settled; nothing if that has been done, or if it is too
  // early: see awaits_fence().
  std::optional<Settlement> answered(LaneSerial serial, std::uint64_t position);
  [[nodiscard]] bool awaits_fence(LaneSerial serial) const;
  [[nodiscard]] bool empty() const { return open_.empty(); }
  // Returns those that have to be asked for over each lane that opens.
  [[nodiscard]] std::vector<LaneSerial> unanswered() const;

 private:
  struct Burial {
    LaneSerial serial;
    LaneId lane;
    bool fenced = true;
    std::optional<std::uint64_t> answer;  // that came before the fence was through
  };

  [[nodiscard]] std::vector<Burial>::iterator find(LaneSerial serial);
  Settlement take(std::vector<Burial>::iterator burial, std::uint64_t position);

  std::vector<Burial> open_;
};

// The receiver's end: lanes that it has closed, with their final positions.
class Graves {
 public:
  struct Grave {
    LaneSerial serial;
    std::uint64_t position = 0;
  };

  // The lane is closed at this end, for good.
  void add(LaneSerial serial, std::uint64_t position);
  // The lane has ended in order, at both ends, and nothing is to be said about it. No other one may be taken
  // for it.
  void forbid(LaneSerial serial);
  // Returns the final position of a lane that was closed; nothing if it was not. A lane that has been settled
  // is asked for again only by a record that was late, and its position no longer matters.
  [[nodiscard]] std::optional<std::uint64_t> position_of(LaneSerial serial) const;
  // The sender has the answer.
  void settled(LaneSerial serial);
  // Returns true if no lane may begin under this serial any more: its hello has come late.
  [[nodiscard]] bool forbids(LaneSerial serial) const;
  // What has to be told over each lane that opens.
  [[nodiscard]] std::span<const Grave> unsettled() const { return unsettled_; }

 private:
  // The sender opens lanes in the order of their serials, so a hello that is overtaken by as many others is
  // long gone. Serials before that are forgotten one by one and forbidden together.
  static constexpr std::size_t kRemembered = 4096;

  std::vector<Grave> unsettled_;
  std::set<std::uint32_t> dead_;  // serials, settled or not
  std::uint32_t forgotten_ = 0;   // this one and all before it
};

}  // namespace tfabric::stripe
