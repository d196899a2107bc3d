// One thing that setup does to the host, and how it is undone.
//
// A step is made of what is wanted, in JSON, which is all that the journal keeps: after an interruption or a
// reboot the same step is made again from it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

class Step {
 public:
  Step() = default;
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Of all steps there ever are on a host, this one: "bind 0000:00:06.0".
  [[nodiscard]] virtual std::string id() const = 0;
  // For people, as an order: "bind 0000:00:06.0 (eth1) to vfio-pci".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] virtual Json wanted() const = 0;
  // Whether the host is as wanted.
  [[nodiscard]] virtual bool done(const Host& host) const = 0;
  // What undo() needs to know of the host as it is now.
  virtual Result<Json> state_before(Host& host) const = 0;
  // Both may be repeated, from whatever an interrupted one has left behind.
  virtual Status apply(Host& host, const Json& before) const = 0;
  virtual Status undo(Host& host, const Json& before) const = 0;
  // done() cannot tell, without changing anything or being slow: what the journal says counts.
  [[nodiscard]] virtual bool only_journal_knows() const { return false; }
  // It, or whom it tells, changes the addresses and routes of the ENIs.
  [[nodiscard]] virtual bool touches_network() const { return false; }
  // A reboot undoes it.
  [[nodiscard]] virtual bool again_at_boot() const { return false; }
};

using StepPtr = std::unique_ptr<Step>;

// Errors: a kind that this version does not know.
Result<StepPtr> make_step(const Json& wanted);

}  // namespace tfabric::setup
