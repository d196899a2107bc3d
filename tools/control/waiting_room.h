// Connections that have arrived at a listener and have not shown its token yet.
//
// They are served side by side: a silent one delays no other, and each is dropped when its own time is over.
// Their number, their bytes and their time are limits of limits.h. The clock is an argument. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "tools/control/invitation.h"

namespace tfabric::control {

class WaitingRoom {
 public:
  // Gets one line for each connection that is refused, up to kMaxRefusalLines.
  using Report = std::function<void(const std::string& line)>;

  WaitingRoom(Invitation invitation, Report report)
      : invitation_(std::move(invitation)), report_(std::move(report)) {}

  // Takes a connection; `from` names its other end in reports.
  void enter(Descriptor connection, std::string from, Instant now);
  // Refuses the connection that has waited longest. Returns false if there is none.
  bool drop_oldest(const std::string& why);
  // Reads what has arrived, drops what to be dropped, and returns a connection that has shown the token. No
  // byte behind its greeting has been read. To be called again while it returns one.
  std::optional<Descriptor> look(Instant now);

  // When look() is to be called although nothing arrives; kNever: nothing waits.
  [[nodiscard]] Instant next_deadline() const;
  // The connections of which look() wants to read.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  struct Guest {
    Descriptor connection;
    std::string from;
    Instant deadline;
    std::string received;  // of the greeting's frame
  };
  enum class Reading : std::uint8_t { wait, complete, refuse };

  // Reads towards the end of the greeting, and not beyond; sets `why` if it refuses.
  static Reading read(Guest& guest, std::string& why);
  void refuse(const Guest& guest, const std::string& why);

  Invitation invitation_;
  Report report_;
  std::list<Guest> guests_;  // in the order of their arrival, which is that of their deadlines
  std::size_t refused_ = 0;
};

}  // namespace tfabric::control
