#include "tools/setup/runner.h"

#include <fmt/format.h>

namespace tfabric::setup {
namespace {

using Outcome = StepReport::Outcome;
using State = JournalEntry::State;

Status apply_step(Host& host, Journal& journal, const Step& step) {
  const JournalEntry* known = journal.find(step.id());
  JournalEntry entry{.id = step.id(), .wanted = step.wanted()};
  const bool is_new = known == nullptr;
  if (is_new) {
    Result<Json> before = step.state_before(host);
    if (!before) {
      return before.error();
    }
    entry.before = std::move(*before);
  } else {
    entry.before = known->before;  // of the first time: now it may be half done
  }
  if (Status status = journal.put(host, entry); !status) {
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
  for (const StepPtr& step : steps) {
    if (is_done(host, journal, *step)) {
      report({step->describe(), Outcome::already, {}});
      continue;
    }
    if (Status status = apply_step(host, journal, *step); !status) {
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
