// What perf's processes tell each other: it survives JSON, and what is out of its range is an error that
// names the member, before anything is allocated or started for it.
#include <catch2/catch.hpp>
#include <string>

#include "tools/perf/allreduce_messages.h"
#include "tools/perf/messages.h"

using namespace tfabric;
using namespace tfabric::perf;

namespace {

Handles handles(std::size_t count) {
  Handles all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].fill(static_cast<std::byte>(i));
  }
  return all;
}

// Returns the error of a message that `from` reads; empty: it is taken.
template <class From>
std::string fault(const From& from, const Json& json) {
  const auto value = from(json, "the client");
  return value ? "" : value.error().message;
}

// Returns the error of a message whose member has another value, or is missing if the value is discarded.
template <class From>
std::string with(const From& from, Json json, const char* name, const Json& value) {
  json.erase(name);
  if (!value.is_discarded()) {
    json[name] = value;
  }
  return fault(from, json);
}

// None of these may be taken for any member, whatever its type: each is an error that names it.
template <class From>
void refuses_other_types(const From& from, const Json& good) {
  REQUIRE(fault(from, good).empty());
  for (const auto& [name, right] : good.items()) {
    for (const Json& wrong : {Json(Json::value_t::discarded), Json(nullptr), Json(-1), Json(1.5),
                              Json::object(), Json(std::string(300'000, 'x')), Json{{{"a", 1}}}}) {
      if (right.is_number_float() && wrong.is_number()) {
        continue;
      }
      INFO(name << ": " << (wrong.is_discarded() ? "missing" : wrong.dump().substr(0, 30)));
      CHECK_THAT(with(from, good, name.c_str(), wrong),
                 Catch::Contains("malformed message: \"" + name + "\" is "));
    }
  }
}

constexpr RunPlan kPlan{
    .size = 4096, .slots = 8, .warmup = 2, .iterations = 100, .verify = true, .bidirectional = true};
constexpr RankPlan kRankPlan{.elements = 1 << 20,
                             .warmup = 1,
                             .iterations = 20,
                             .inflight = 8,
                             .slice_elements = 1 << 17,
                             .check = true};

}  // namespace

TEST_CASE("an end survives JSON, with as many handles as comms") {
  const End end{
      .plugin = "tfabric", .network = "tfabric (table v12), device 0 memif0", .handles = handles(3)};
  const auto again = end_from(to_json(end), "the client");
  REQUIRE(again);
  CHECK(again->plugin == end.plugin);
  CHECK(again->network == end.network);
  CHECK(again->handles == end.handles);
  refuses_other_types(end_from, to_json(end));
  CHECK(fault(end_from, to_json(End{.plugin = "x", .network = "y", .handles = handles(kMaxComms)})).empty());
  CHECK_FALSE(fault(end_from, to_json(End{.plugin = "x", .network = "y", .handles = handles(kMaxComms + 1)}))
                  .empty());
  CHECK_THAT(with(end_from, to_json(end), "handles", Json{"00ff"}),
             Catch::EndsWith("texts of 256 hexadecimal digits"));
}

TEST_CASE("a step survives JSON") {
  for (const auto kind : {Step::Kind::stream, Step::Kind::ping_pong, Step::Kind::end}) {
    const Json json = to_json(Step{.kind = kind, .plan = kPlan});
    const auto again = step_from(json, "the client");
    REQUIRE(again);
    CHECK(again->kind == kind);
    CHECK(to_json(*again) == json);
  }
  const Json stream = to_json(Step{.kind = Step::Kind::stream, .plan = kPlan});
  refuses_other_types(step_from, stream);
  CHECK_THAT(with(step_from, stream, "step", "dance"),
             Catch::EndsWith("\"stream\", \"ping-pong\" or \"end\""));
}

TEST_CASE("a plan is within what the command line allows") {
  const Json stream = to_json(Step{.kind = Step::Kind::stream, .plan = kPlan});
  CHECK(with(step_from, stream, "size", kMaxMessageBytes).empty());
  CHECK_FALSE(with(step_from, stream, "size", kMaxMessageBytes + 1).empty());
  CHECK_FALSE(with(step_from, stream, "slots", 0).empty());
  CHECK_FALSE(with(step_from, stream, "slots", kMaxInflight + 1).empty());
  CHECK_FALSE(with(step_from, stream, "iterations", 0).empty());
  CHECK_FALSE(with(step_from, stream, "iterations", kMaxIterations + 1).empty());
  CHECK_FALSE(with(step_from, stream, "warmup", kMaxIterations + 1).empty());
}

TEST_CASE("results survive JSON") {
  const StreamResult result{.messages = 7, .seconds = 0.5, .cpu_seconds = 1.25, .wrong_bytes = 3};
  REQUIRE(stream_result_from(to_json(result), "the server"));
  CHECK(to_json(*stream_result_from(to_json(result), "the server")) == to_json(result));
  refuses_other_types(stream_result_from, to_json(result));
  const RankResult ring{.seconds = 0.5, .cpu_seconds = 1.25, .wrong = 3};
  REQUIRE(rank_result_from(to_json(ring), "rank 0"));
  CHECK(to_json(*rank_result_from(to_json(ring), "rank 0")) == to_json(ring));
  refuses_other_types(rank_result_from, to_json(ring));
}

TEST_CASE("an agent starts no more processes than an allreduce has, and none for a rank beyond them") {
  const auto last =
      local_rank_from(to_json(LocalRank{.rank = kMaxRanks - 1, .size = kMaxRanks}), "the coordinator");
  REQUIRE(last);
  CHECK(last->rank == kMaxRanks - 1);
  refuses_other_types(local_rank_from, to_json(LocalRank{.rank = 0, .size = 2}));
  for (const LocalRank& wrong : {LocalRank{.rank = 0, .size = 0}, LocalRank{.rank = 0, .size = kMaxRanks + 1},
                                 LocalRank{.rank = 2, .size = 2}}) {
    CAPTURE(wrong.rank, wrong.size);
    CHECK_FALSE(fault(local_rank_from, to_json(wrong)).empty());
  }
}

TEST_CASE("a rank's set-up and place survive JSON, and are bounded") {
  CHECK(ring_setup_from(to_json(RingSetup{.comms = kMaxComms}), "the coordinator")->comms == kMaxComms);
  CHECK_FALSE(fault(ring_setup_from, to_json(RingSetup{.comms = 2'000'000})).empty());
  CHECK_FALSE(fault(ring_setup_from, to_json(RingSetup{.comms = 0})).empty());
  refuses_other_types(ring_setup_from, to_json(RingSetup{}));

  const RingPlace place{.rank = 3, .ranks = 4, .handles = handles(2)};
  const auto again = ring_place_from(to_json(place), "the coordinator");
  REQUIRE(again);
  CHECK(to_json(*again) == to_json(place));
  refuses_other_types(ring_place_from, to_json(place));
  CHECK_FALSE(fault(ring_place_from, to_json(RingPlace{.rank = 4, .ranks = 4, .handles = {}})).empty());
  CHECK_FALSE(fault(ring_place_from, to_json(RingPlace{.rank = 0, .ranks = 1, .handles = {}})).empty());
}

TEST_CASE("a rank's step survives JSON, and its schedule is bounded") {
  const Json step = to_json(RankStep{.plan = kRankPlan});
  const auto again = rank_step_from(step, "the coordinator");
  REQUIRE(again);
  REQUIRE(again->plan);
  CHECK(to_json(*again) == step);
  refuses_other_types(rank_step_from, step);
  const auto end = rank_step_from(to_json(RankStep{}), "the coordinator");
  REQUIRE(end);
  CHECK_FALSE(end->plan);
  CHECK_FALSE(fault(rank_step_from, Json{{"end", 7}}).empty());
  CHECK(with(rank_step_from, step, "elements", kMaxMessageBytes / 4).empty());
  CHECK_FALSE(with(rank_step_from, step, "elements", kMaxMessageBytes / 4 + 1).empty());
  Json fine = step;
  fine["elements"] = kMaxMessageBytes / 4;
  CHECK_THAT(with(rank_step_from, fine, "slice", 1), Catch::Contains("\"slice\" is 1"));
}

TEST_CASE("signals are objects with the right member") {
  CHECK(ready_from(ready(), "the server"));
  CHECK(started_from(started(), "the agent"));
  CHECK(go_from(go(), "the coordinator"));
  CHECK_FALSE(ready_from(go(), "the server"));
  CHECK_FALSE(go_from(Json{{"go", "now"}}, "the coordinator"));
}
