// What a process has once, whatever carries its bytes: the page by which it shows itself, the watchdog over
// its waits, what leaves dumps, the witness that answers for it, and the faults that it takes on purpose.
//
// Nothing of it must be there for the network to work: what is off, or cannot be made, is null, and the log
// says why. It outlives whatever uses it, and the accessors can be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.h"
#include "observe/dump/dumper.h"
#include "observe/page.h"
#include "transport/engine/rehearsal.h"
#include "transport/process/fault_control.h"
#include "transport/watchdog/host_voice.h"
#include "transport/watchdog/watchdog.h"
#include "transport/witness/witness.h"

namespace tfabric::process {

struct Options {
  std::string transport;       // the page's word for what carries the bytes
  bool keeps_packets = false;  // there are flows whose last ones are kept on the page (observe.records)
  bool witness = false;        // one is opened, if the configuration has it
};

class Process {
 public:
  // Reads the environment.
  Process(const config::Config& config, const Options& options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Null: nothing is shown or watched.
  [[nodiscard]] observe::Page* page() const { return page_.get(); }
  [[nodiscard]] watchdog::Watchdog* watchdog() const { return watchdog_.get(); }
  // Peers take its end for that of the process.
  [[nodiscard]] witness::Witness* witness() const { return witness_.get(); }
  // What is rehearsed on the process as a whole; null: nothing can be.
  [[nodiscard]] const std::shared_ptr<engine::Rehearsal>& rehearsal() const { return rehearsal_; }
  // Null: others may not make it fail (fault.allow), or cannot. Used by one thread at a time, whose task it
  // is to call on_time().
  [[nodiscard]] FaultControl* faults() const { return faults_.get(); }

  // The end begins: what there is to be dumped is read while it is still there.
  void hurry_dumps() const;

 private:
  void allow_faults();

  // In order of use.
  std::unique_ptr<observe::Page> page_;
  watchdog::HostVoice voice_;
  std::unique_ptr<watchdog::Watchdog> watchdog_;
  std::unique_ptr<dump::Dumper> dumper_;  // what it writes last has what was seen
  std::unique_ptr<witness::Witness> witness_;
  std::shared_ptr<engine::Rehearsal> rehearsal_;
  std::unique_ptr<FaultControl> faults_;
};

}  // namespace tfabric::process
