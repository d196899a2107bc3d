#include "tools/perf/messages.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "tools/control/hex.h"

namespace tfabric::perf {
namespace {

using control::Fields;

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

struct StepName {
  Step::Kind kind;
  const char* name;
};
constexpr std::array<StepName, 3> kSteps{
    {{Step::Kind::stream, "stream"}, {Step::Kind::ping_pong, "ping-pong"}, {Step::Kind::end, "end"}}};

Step::Kind kind_from(Fields& fields) {
  const std::string name = fields.text("step");
  for (const StepName& step : kSteps) {
    if (name == step.name) {
      return step.kind;
    }
  }
  fields.fault("step", "\"stream\", \"ping-pong\" or \"end\"");
  return Step::Kind::end;
}

}  // namespace

Json to_json(const Handles& handles) {
  Json texts = Json::array();
  for (const tools::PluginHandle& handle : handles) {
    texts.push_back(control::to_hex(handle));
  }
  return texts;
}

Handles handles_from(Fields& fields) {
  Handles handles;
  for (const std::string& text : fields.texts("handles", kMaxComms)) {
    tools::PluginHandle& handle = handles.emplace_back();
    if (!control::from_hex(text, handle)) {
      fields.fault("handles", fmt::format("texts of {} hexadecimal digits", 2 * handle.size()));
      return {};
    }
  }
  return handles;
}

Json to_json(const End& end) {
  return {{"plugin", end.plugin}, {"network", end.network}, {"handles", to_json(end.handles)}};
}

Result<End> end_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  End end{
      .plugin = fields.text("plugin"), .network = fields.text("network"), .handles = handles_from(fields)};
  return fields.checked(std::move(end));
}

Json to_json(const Step& step) {
  Json json;
  for (const StepName& each : kSteps) {
    if (each.kind == step.kind) {
      json["step"] = each.name;
    }
  }
  if (step.kind != Step::Kind::end) {
    const RunPlan& plan = step.plan;
    json.update({{"size", plan.size},
                 {"slots", plan.slots},
                 {"warmup", plan.warmup},
                 {"iterations", plan.iterations},
                 {"verify", plan.verify},
                 {"bidirectional", plan.bidirectional}});
  }
  return json;
}

Result<Step> step_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  Step step{.kind = kind_from(fields), .plan = {}};
  if (step.kind != Step::Kind::end) {
    step.plan = {.size = fields.number("size", 0, kMaxMessageBytes),
                 .slots = fields.number("slots", 1, kMaxInflight),
                 .warmup = fields.number("warmup", 0, kMaxIterations),
                 .iterations = fields.number("iterations", 1, kMaxIterations),
                 .verify = fields.flag("verify"),
                 .bidirectional = fields.flag("bidirectional")};
  }
  return fields.checked(step);
}

Json ready() { return {{"ready", true}}; }

Status ready_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  fields.flag("ready");
  return fields.status();
}

Json to_json(const StreamResult& result) {
  return {{"messages", result.messages},
          {"seconds", result.seconds},
          {"cpu_seconds", result.cpu_seconds},
          {"wrong_bytes", result.wrong_bytes}};
}

Result<StreamResult> stream_result_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  const StreamResult result{.messages = fields.number("messages", 0, kAny),
                            .seconds = fields.real("seconds", kMaxSeconds),
                            .cpu_seconds = fields.real("cpu_seconds", kMaxSeconds),
                            .wrong_bytes = fields.number("wrong_bytes", 0, kAny)};
  return fields.checked(result);
}

}  // namespace tfabric::perf
