#include <fmt/format.h>

#include "base/version.h"
#include "tools/setup/command.h"
#include "tools/setup/files.h"
#include "tools/setup/runner.h"

namespace tfabric::setup {
namespace {

constexpr auto kLockPath = "/run/tfabric-setup.lock";

class Session {
 public:
  Session(Host& host, const Console& console, const Request& request)
      : host_(host), console_(console), request_(request) {}

  int run() {
    const bool reads_only = request_.verb == Request::Verb::dry_run ||
                            request_.verb == Request::Verb::docker ||
                            request_.verb == Request::Verb::kubernetes;
    if (reads_only) {
      return with_journal();
    }
    const Result<Lock> lock = Lock::take(host_.full(kLockPath));
    return lock ? with_journal() : fail(lock.error());
  }

 private:
  int with_journal() {
    Result<Journal> journal = Journal::load(host_);
    if (!journal) {
      return fail(journal.error());
    }
    switch (request_.verb) {
      case Request::Verb::undo:
        return undo(*journal);
      case Request::Verb::boot:
        return end(apply_at_boot(host_, *journal, progress()), "");
      default:
        break;
    }
    const Result<Facts> facts = gather(host_, *journal, request_.plan.group);
    if (!facts) {
      return fail(facts.error());
    }
    if (request_.verb == Request::Verb::docker || request_.verb == Request::Verb::kubernetes) {
      const Result<std::string> text =
          request_.verb == Request::Verb::docker ? docker_flags(*facts) : pod_fragment(*facts);
      return text ? say(*text) : fail(text.error());
    }
    const Result<Plan> plan = make_plan(*facts, request_.plan);
    return plan ? apply(*journal, *plan) : fail(plan.error());
  }

  int apply(Journal& journal, const Plan& plan) {
    json_ = plan_json(host_, journal, plan);
    tell(plan_text(host_, journal, plan));
    if (plan.selection.enis.empty()) {
      return fail({Errc::unusable, "there is no NIC to set up here, except those that are left alone"});
    }
    if (request_.verb == Request::Verb::dry_run) {
      return end({}, "Nothing was changed.\n");
    }
    bool needed = false;
    for (const StepPtr& step : plan.steps) {
      needed = needed || !is_done(host_, journal, *step);
    }
    if (needed && !agreed()) {
      return refuse();
    }
    Status status = apply_steps(host_, journal, plan.steps, progress());
    if (status) {
      tell((needed ? "" : "Everything is set up already; nothing was changed.\n") + summary(host_, plan));
      status = try_nics();
    }
    return end(status, "");
  }

  int undo(Journal& journal) {
    if (journal.entries().empty()) {
      return end(Journal::clean(host_), "There is nothing to undo.\n");
    }
    tell("To be undone, the last one first:\n");
    for (const JournalEntry& entry : journal.entries()) {
      tell("  " + entry.id + "\n");
    }
    if (!agreed()) {
      return refuse();
    }
    return end(undo_steps(host_, journal, progress()), "", "This host is as it was before setup.\n");
  }

  // What a driver refuses is known only once it has opened its NIC.
  Status try_nics() {
    if (request_.no_trial) {
      return {};
    }
    const Result<std::string> tried = console_.try_nics(host_.full(kConfigPath));
    if (!tried) {
      return Error{Errc::remote,
                   fmt::format("the NICs are set up, and do not work: {}. `tfabric setup --undo` "
                               "gives them back",
                               tried.error().message)};
    }
    tell(fmt::format("  tried   the NICs: {}\n", *tried));
    json_["tried"] = *tried;
    return {};
  }

  bool agreed() {
    answer_ = request_.yes ? std::optional(true) : console_.ask();
    return answer_.value_or(false);
  }
  int refuse() {
    return fail(
        {Errc::invalid_usage,
         answer_ ? "the plan was not agreed to; nothing was changed"
                 : "there is no terminal to ask for consent: --yes agrees to the plan, --dry-run shows it"});
  }

  Report progress() {
    return [this](const StepReport& report) {
      tell(line_of(report));
      json_["outcomes"].push_back(json_of(report));
    };
  }

  // Prints for people: to standard error if standard output is JSON.
  void tell(const std::string& text) const { request_.json ? console_.err(text) : console_.out(text); }

  int say(const std::string& text) const {
    console_.out(text);
    return kOk;
  }

  int end(const Status& status, const std::string& always, const std::string& success = "") {
    if (!status) {
      return fail(status.error(), kFailed);
    }
    tell(always + success);
    if (request_.verb == Request::Verb::apply) {
      tell("setup successfully\n");
    }
    finish("ok");
    return kOk;
  }

  int fail(const Error& error, std::optional<int> code = {}) {
    console_.err(fmt::format("tfabric setup: {}\n", error.message));
    json_["error"] = error.message;
    finish("failed");
    if (code) {
      return *code;
    }
    switch (error.code) {
      case Errc::invalid_usage:
      case Errc::invalid_argument:
        return kUsage;
      case Errc::unusable:
        return kNothing;
      default:
        return kFailed;
    }
  }

  void finish(const char* result) {
    if (request_.json) {
      json_["version"] = version();
      json_["result"] = result;
      console_.out(to_text(json_, 2) + "\n");
    }
  }

  Host& host_;
  const Console& console_;
  const Request& request_;
  Json json_ = Json::object();
  std::optional<bool> answer_;
};

}  // namespace

int run_session(Host& host, const Console& console, const Request& request) {
  return Session(host, console, request).run();
}

}  // namespace tfabric::setup
