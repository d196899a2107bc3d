#include "transport/tcp/engine/rehearsal.h"

#include <cstddef>
#include <utility>

#include "base/log.h"

namespace tfabric::engine {

Rehearsal::Rehearsal(std::string rail, std::vector<config::Fault> faults, Instant opened)
    : rail_(std::move(rail)),
      faults_(std::move(faults)),
      opened_(opened),
      reported_(std::make_unique<std::atomic<std::uint64_t>[]>(faults_.size())) {}

void Rehearsal::report(Instant now) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const std::uint64_t turns = turns_of(faults_[i], now - opened_);
    std::uint64_t reported = reported_[i].load(std::memory_order_relaxed);
    // The link that moves the number speaks for all. What a process has missed that stood still stays unsaid.
    while (turns > reported) {
      if (reported_[i].compare_exchange_weak(reported, turns, std::memory_order_relaxed)) {
        say(faults_[i], /*begins=*/turns % 2 == 1);
        break;
      }
    }
  }
}

void Rehearsal::say(const config::Fault& fault, bool begins) const {
  if (begins) {
    TF_WARN("NET/tfabric: rail {}: a rehearsed fault begins: {}", rail_, fault.text);
  } else {
    TF_WARN(
        "NET/tfabric: rail {}: a rehearsed fault has ended: {}; {} packets of this rail were lost on purpose "
        "so far",
        rail_, fault.text, lost());
  }
}

}  // namespace tfabric::engine
