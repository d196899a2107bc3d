#include "tools/setup/report.h"

#include <fmt/format.h>

#include "tools/setup/driver.h"

namespace tfabric::setup {
namespace {

const char* word_of(StepReport::Outcome outcome) {
  switch (outcome) {
    case StepReport::Outcome::already:
      return "already";
    case StepReport::Outcome::done:
      return "done";
    case StepReport::Outcome::undone:
      return "undone";
    case StepReport::Outcome::failed:
      break;
  }
  return "failed";
}

std::string hugepages_text(const Host& host) {
  std::string text;
  for (const hugepage::PageSize& size : hugepage::discover_pages(host.full("")).sizes) {
    if (size.total != 0) {
      text += fmt::format("{}{} of {} MiB ({} free)", text.empty() ? "" : ", ", size.total, size.bytes >> 20,
                          size.free);
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string plan_text(const Host& host, const Journal& journal, const Plan& plan) {
  std::string text = "NICs for tfabric:\n";
  for (const Eni& eni : plan.selection.enis) {
    text += "  " + describe(eni) + "\n";
  }
  if (plan.selection.enis.empty()) {
    text += "  none\n";
  }
  for (std::size_t i = 0; i < plan.selection.left_out.size(); ++i) {
    const LeftOut& nic = plan.selection.left_out[i];
    text += fmt::format("{}  {}{} {}\n", i == 0 ? "NICs that are left alone:\n" : "", nic.address,
                        nic.name.empty() ? "" : " (" + nic.name + ")", nic.reason);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool done = is_done(host, journal, *plan.steps[i]);
    text += fmt::format("{}  {}{}\n", i == 0 ? "Steps:\n" : "", plan.steps[i]->describe(),
                        done ? " (is so already)" : "");
  }
  for (const std::string& note : plan.notes) {
    text += "Note: " + note + "\n";
  }
  return text;
}

Json plan_json(const Host& host, const Journal& journal, const Plan& plan) {
  Json json{{"nics", Json::array()},
            {"left_alone", Json::array()},
            {"steps", Json::array()},
            {"notes", plan.notes}};
  for (const Eni& eni : plan.selection.enis) {
    json["nics"].push_back(to_json(eni));
  }
  for (const LeftOut& nic : plan.selection.left_out) {
    json["left_alone"].push_back(
        {{"address", nic.address}, {"name", nic.name}, {"reason", "it " + nic.reason}});
  }
  for (const StepPtr& step : plan.steps) {
    json["steps"].push_back({{"step", step->describe()}, {"already", is_done(host, journal, *step)}});
  }
  return json;
}

std::string line_of(const StepReport& report) {
  return fmt::format("{:>8}  {}{}\n", word_of(report.outcome), report.description,
                     report.failure.empty() ? "" : ": " + report.failure);
}

Json json_of(const StepReport& report) {
  Json json{{"step", report.description}, {"outcome", word_of(report.outcome)}};
  if (!report.failure.empty()) {
    json["error"] = report.failure;
  }
  return json;
}

std::string summary(const Host& host, const Plan& plan) {
  std::string text = fmt::format("{} rail(s) in {}\n", plan.selection.enis.size(), kConfigPath);
  for (const Eni& eni : plan.selection.enis) {
    text += fmt::format("  {} ({}): {}\n", eni.address, eni.name, driver_of(host, eni.address));
  }
  text += fmt::format("Hugepages: {}\n", hugepages_text(host));
  return text + "`tfabric info` shows what NCCL sees; `tfabric setup --undo` gives all of it back.\n";
}

}  // namespace tfabric::setup
