#include "tools/perf/allreduce_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/perf/ring.h"

namespace tfabric::perf {
namespace {

using control::Fields;

// A message that has nothing to say but that it is there.
Status signal_from(const char* name, const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  fields.flag(name);
  return fields.status();
}

}  // namespace

Json to_json(const LocalRank& rank) { return {{"local_rank", rank.rank}, {"local_size", rank.size}}; }

Result<LocalRank> local_rank_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  LocalRank local;
  local.size = fields.number("local_size", 1, kMaxRanks);
  local.rank = fields.number("local_rank", 0, std::max<std::size_t>(local.size, 1) - 1);
  return fields.checked(local);
}

Json started() { return {{"started", true}}; }
Status started_from(const Json& json, const std::string& sender) {
  return signal_from("started", json, sender);
}

Json to_json(const RingSetup& setup) { return {{"comms", setup.comms}}; }

Result<RingSetup> ring_setup_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  return fields.checked(RingSetup{.comms = fields.number("comms", 1, kMaxComms)});
}

Json to_json(const RingPlace& place) {
  return {{"rank", place.rank}, {"ranks", place.ranks}, {"handles", to_json(place.handles)}};
}

Result<RingPlace> ring_place_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  RingPlace place;
  place.ranks = static_cast<std::uint32_t>(fields.number("ranks", 2, kMaxAllRanks));
  place.rank = static_cast<std::uint32_t>(fields.number("rank", 0, std::max(place.ranks, 1u) - 1));
  place.handles = handles_from(fields);
  return fields.checked(std::move(place));
}

Json to_json(const RankStep& step) {
  if (!step.plan) {
    return {{"end", true}};
  }
  return {{"elements", step.plan->elements},     {"warmup", step.plan->warmup},
          {"iterations", step.plan->iterations}, {"inflight", step.plan->inflight},
          {"slice", step.plan->slice_elements},  {"check", step.plan->check}};
}

Result<RankStep> rank_step_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  if (fields.has("end")) {
    fields.flag("end");
    return fields.checked(RankStep{});
  }
  const RankPlan plan{.elements = fields.number("elements", 1, kMaxMessageBytes / kElementBytes),
                      .warmup = fields.number("warmup", 0, kMaxIterations),
                      .iterations = fields.number("iterations", 1, kMaxIterations),
                      .inflight = fields.number("inflight", 1, kMaxInflight),
                      .slice_elements = fields.number("slice", 1, kMaxSliceBytes / kElementBytes),
                      .check = fields.flag("check")};
  if (fields.status() && plan.elements / plan.slice_elements > kMaxSlices) {
    fields.fault("slice",
                 fmt::format("so many elements that {} are at most {} slices", plan.elements, kMaxSlices));
  }
  return fields.checked(RankStep{.plan = plan});
}

Json go() { return {{"go", true}}; }
Status go_from(const Json& json, const std::string& sender) { return signal_from("go", json, sender); }

Json to_json(const RankResult& result) {
  return {{"seconds", result.seconds}, {"cpu_seconds", result.cpu_seconds}, {"wrong", result.wrong}};
}

Result<RankResult> rank_result_from(const Json& json, const std::string& sender) {
  Fields fields(json, sender);
  return fields.checked(
      RankResult{.seconds = fields.real("seconds", kMaxSeconds),
                 .cpu_seconds = fields.real("cpu_seconds", kMaxSeconds),
                 .wrong = fields.number("wrong", 0, std::numeric_limits<std::uint64_t>::max())});
}

}  // namespace tfabric::perf
