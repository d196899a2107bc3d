#include "tools/setup/runner.h"

#include <fmt/format.h>

#include <set>

namespace tfabric::setup {
namespace {

using Outcome = StepReport::Outcome;
using State = JournalEntry::State;

// Writes the host's state before a step to the journal.
Status record(Host& host, Journal& journal, const Step& step) {
  Result<Json> before = step.state_before(host);
  if (!before) {
    return before.error();
  }
  return journal.put(host, {.id = step.id(), .wanted = step.wanted(), .before = std::move(*before)});
}

// Records the state before all new steps from `first` on that touch the network: a manager that releases a
// NIC removes its addresses, and setup may be killed before it comes to the NIC's own step.
Status record_network(Host& host, Journal& journal, const std::vector<StepPtr>& steps, std::size_t first,
                      std::set<std::string>& recorded) {
  for (std::size_t i = first; i < steps.size(); ++i) {
    const Step& step = *steps[i];
    if (step.touches_network() && journal.find(step.id()) == nullptr && !step.done(host)) {
      if (Status status = record(host, journal, step); !status) {
        return status;
      }
      recorded.insert(step.id());
    }
  }
  return {};
}

Status apply_step(Host& host, Journal& journal, const Step& step, bool is_new) {
  if (journal.find(step.id()) == nullptr) {
    is_new = true;
    if (Status status = record(host, journal, step); !status) {
      return status;
    }
  }
  // Keep the `before` of the first attempt: the host may be half-changed by now.
  JournalEntry entry{.id = step.id(), .wanted = step.wanted(), .before = journal.find(step.id())->before};
  if (Status status = is_new ? Status() : journal.put(host, entry); !status) {
    return status;
  }
  if (Status status = step.apply(host, entry.before); !status) {
    if (is_new && step.undo(host, entry.before)) {
      static_cast<void>(journal.drop(host, entry.id));
    }
    return status;
  }
  entry.state = State::done;
  return journal.put(host, entry);
}

Status undo_step(Host& host, Journal& journal, JournalEntry entry, std::string& description) {
  Result<StepPtr> step = make_step(entry.wanted);
  if (!step) {
    return step.error();
  }
  description = (*step)->describe();
  entry.state = State::undoing;
  if (Status status = journal.put(host, entry); !status) {
    return status;
  }
  if (Status status = (*step)->undo(host, entry.before); !status) {
    return status;
  }
  return journal.drop(host, entry.id);
}

}  // namespace

bool is_done(const Host& host, const Journal& journal, const Step& step) {
  const JournalEntry* entry = journal.find(step.id());
  const bool finished = entry != nullptr && entry->state == State::done;
  if (step.only_journal_knows()) {
    return finished && entry->wanted == step.wanted();
  }
  return (entry == nullptr || finished) && step.done(host);
}

Status apply_steps(Host& host, Journal& journal, const std::vector<StepPtr>& steps, const Report& report) {
  std::set<std::string> recorded;  // by this run, ahead of the step's turn
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepPtr& step = steps[i];
    if (is_done(host, journal, *step)) {
      report({step->describe(), Outcome::already, {}});
      continue;
    }
    Status status = step->touches_network() ? record_network(host, journal, steps, i, recorded) : Status();
    if (status) {
      status = apply_step(host, journal, *step, recorded.contains(step->id()));
    }
    if (!status) {
      report({step->describe(), Outcome::failed, status.error().message});
      return status;
    }
    report({step->describe(), Outcome::done, {}});
  }
  return {};
}

Status undo_steps(Host& host, Journal& journal, const Report& report) {
  const std::vector<JournalEntry> entries = journal.entries();
  Status first_failure;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    std::string description = entry->id;
    if (Status status = undo_step(host, journal, *entry, description); !status) {
      report({description, Outcome::failed, status.error().message});
      first_failure = first_failure ? status : first_failure;
    } else {
      report({description, Outcome::undone, {}});
    }
  }
  return first_failure;
}

Status apply_at_boot(Host& host, const Journal& journal, const Report& report) {
  Status first_failure;
  for (const JournalEntry& entry : journal.entries()) {
    Result<StepPtr> step = make_step(entry.wanted);
    if (step && (!(*step)->again_at_boot() || entry.state == State::undoing)) {
      continue;
    }
    Status status = !step ? Status(step.error()) : Status();
    const std::string description = step ? (*step)->describe() : entry.id;
    const bool already = step && (*step)->done(host);
    if (step && !already) {
      status = (*step)->apply(host, entry.before);
    }
    if (!status) {
      report({description, Outcome::failed, status.error().message});
      first_failure = first_failure ? status : first_failure;
    } else {
      report({description, already ? Outcome::already : Outcome::done, {}});
    }
  }
  return first_failure;
}

}  // namespace tfabric::setup
