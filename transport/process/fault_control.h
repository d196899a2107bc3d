// Faults that a process takes from outside while it runs (`tfabric fault`), where its configuration allows
// it.
//
// Lines come by the mailbox of the page (observe/mailbox.h), and are looked for ten times a second:
//
//   rehearse DURATION RAIL:KIND[=VALUE][;...]    these faults begin now, and end after the duration
//   end                                          those that have come so end now
//
// The answer begins with "ok ", or with "no " and why nothing was done. A line is a stranger's text. Used
// by one thread at a time: with the engine held that tends it, if there is one. The links of other engines
// learn of a fault by the rail's rehearsal.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "config/fault.h"
#include "observe/mailbox.h"
#include "transport/engine/engine.h"
#include "transport/engine/rehearsal.h"

namespace tfabric::process {

class FaultControl final : public engine::Tended {
 public:
  // A freeze begins so long after it was asked for: the page is to show it, and the answer to be read.
  static constexpr Duration kBeforeFreeze = std::chrono::milliseconds(200);

  // The page outlives it. `process`: of all engines.
  FaultControl(observe::Page& page, std::shared_ptr<engine::Rehearsal> process);

  // `rehearsal`: null if nothing can be done to the rail. `is_port`: its packets are an HCA's, so that there
  // are fewer faults (config::is_for_ports()).
  void add_rail(std::string name, std::shared_ptr<engine::Rehearsal> rehearsal, bool is_port = false);
  // Returns false if nothing can be asked, for want of a page.
  [[nodiscard]] bool works() const { return mailbox_.works(); }

  // --- engine::Tended
  void on_time(Instant now) override;

 private:
  struct Target {
    std::string name;
    std::shared_ptr<engine::Rehearsal> rehearsal;
    bool is_port = false;
    [[nodiscard]] bool takes(const config::Fault& fault) const;
  };

  [[nodiscard]] std::string obey(std::string_view line, Instant now);
  [[nodiscard]] std::string rehearse(std::string_view words, Instant now);
  [[nodiscard]] std::string why_not(const config::Fault& fault) const;
  // Returns true if all of it has begun.
  bool begin(const config::Fault& fault, Duration lasts, Instant now);
  [[nodiscard]] std::string end_all(Instant now);

  observe::Mailbox mailbox_;
  std::shared_ptr<engine::Rehearsal> process_;
  std::vector<Target> rails_;
  Instant next_look_{};
};

}  // namespace tfabric::process
