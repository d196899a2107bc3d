// Any bytes as what the other end of a control connection sends (`tfabric perf`, `perf allreduce`, `check`).
//
// The first byte chooses: what a listener makes of the rest as a greeting, the rest as text to be printed, or
// as a connection's bytes, which arrive in pieces of that size. Every message is read as each kind there is:
// what is taken is within its limits, and is written to the same again.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/require.h"
#include "tools/check/peer/messages.h"
#include "tools/control/frames.h"
#include "tools/control/greeting.h"
#include "tools/control/limits.h"
#include "tools/control/visible.h"
#include "tools/perf/allreduce_messages.h"
#include "tools/perf/messages.h"

using namespace tfabric;

namespace {

constexpr std::uint8_t kGreeting = 0, kText = 255;
const std::string kSender = "the client";

// Returns true if no byte of the text moves a cursor.
bool is_visible(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Reads `json` by `from`, which is one of the functions *_from; requires that the value is written to JSON
// from which it is read again, and that an error can be printed.
template <class From>
auto read_again(const From& from, const perf::Json& json) {
  // Found in the messages' namespaces, since structures of both are written.
  using check::to_json;
  using perf::to_json;
  auto value = from(json);
  if (!value) {
    TFABRIC_REQUIRE(value.error().code == Errc::remote && is_visible(value.error().message));
    return value;
  }
  const perf::Json written = to_json(*value);
  const auto again = from(written);
  TFABRIC_REQUIRE(again && to_json(*again) == written);
  return value;
}

// Binds the sender's name.
template <class Value>
auto sent_by_client(Result<Value> (*from)(const perf::Json&, const std::string&)) {
  return [from](const perf::Json& json) { return from(json, kSender); };
}

void read_as_perf(const perf::Json& message) {
  const auto end = read_again(sent_by_client(perf::end_from), message);
  TFABRIC_REQUIRE(!end || (end->handles.size() <= perf::kMaxComms && is_visible(end->network)));
  const auto step = read_again(sent_by_client(perf::step_from), message);
  TFABRIC_REQUIRE(
      !step || step->kind == perf::Step::Kind::end ||
      (step->plan.slots >= 1 && step->plan.slots <= perf::kMaxInflight && step->plan.iterations >= 1));
  static_cast<void>(read_again(sent_by_client(perf::stream_result_from), message));
  static_cast<void>(perf::ready_from(message, kSender));
}

void read_as_allreduce(const perf::Json& message) {
  const auto local = read_again(sent_by_client(perf::local_rank_from), message);
  TFABRIC_REQUIRE(!local || (local->rank < local->size && local->size <= perf::kMaxRanks));
  static_cast<void>(read_again(sent_by_client(perf::ring_setup_from), message));
  const auto place = read_again(sent_by_client(perf::ring_place_from), message);
  TFABRIC_REQUIRE(!place || place->rank < place->ranks);
  const auto step = read_again(sent_by_client(perf::rank_step_from), message);
  TFABRIC_REQUIRE(!step || !step->plan ||
                  (step->plan->slice_elements >= 1 &&
                   step->plan->elements / step->plan->slice_elements <= perf::kMaxSlices));
  static_cast<void>(read_again(sent_by_client(perf::rank_result_from), message));
  static_cast<void>(perf::started_from(message, kSender));
  static_cast<void>(perf::go_from(message, kSender));
}

void read_as_check(const perf::Json& message) {
  const auto offer = read_again(check::offer_from, message);
  if (offer) {
    for (const check::OfferedRail& rail : offer->rails) {
      TFABRIC_REQUIRE(is_visible(rail.name) && is_visible(rail.gateway));
    }
  }
  static_cast<void>(read_again(check::handle_from, message));
  static_cast<void>(read_again(check::outcome_from, message));
}

void try_connection(std::string_view bytes, std::size_t piece) {
  control::FrameReader reader;
  bool good = true;
  while (good && !bytes.empty()) {
    const std::size_t count = std::min(piece, bytes.size());
    good = reader.take(bytes.substr(0, count)).ok();
    TFABRIC_REQUIRE(good == !reader.fault());
    TFABRIC_REQUIRE(reader.messages().size() <= control::kMaxWaitingMessages);
    bytes.remove_prefix(count);
    while (const auto message = reader.next()) {
      TFABRIC_REQUIRE(message->is_object());
      read_as_perf(*message);
      read_as_allreduce(*message);
      read_as_check(*message);
      TFABRIC_REQUIRE(!control::frame_of(*message).empty());
    }
  }
}

void try_greeting(std::string_view text) {
  const control::Invitation invitation{.service = "tfabric perf", .token = "0123456789abcdef"};
  const auto greeting = control::parse_message(text);
  if (!greeting) {
    return;
  }
  const control::Admission admission = control::admit(*greeting, invitation);
  const bool shown = greeting->contains("token") && (*greeting)["token"] == invitation.token;
  TFABRIC_REQUIRE(shown || (!admission.refusal.empty() && !admission.told));
  TFABRIC_REQUIRE(is_visible(admission.refusal));
  static_cast<void>(control::read_welcome(*greeting, "the server"));
}

void try_text(std::string_view text) {
  const std::string shown = control::visible(text);
  TFABRIC_REQUIRE(is_visible(shown));
  TFABRIC_REQUIRE(control::visible(shown) == shown);
  const std::string lines = control::visible_lines(text);
  TFABRIC_REQUIRE(std::count(lines.begin(), lines.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == kGreeting) {
    try_greeting(rest);
  } else if (data[0] == kText) {
    try_text(rest);
  } else {
    try_connection(rest, data[0]);
  }
  return 0;
}
