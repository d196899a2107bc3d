// Any bytes as what a client of a wire's control socket sends, in pieces: lines, commands and settings.
//
// The first byte is the size of the pieces. Whatever arrives, lines are cut at the same places; a command has
// what its kind needs; settings that are taken are within the emulator's limits, and what is shown of them
// can be set again.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/require.h"
#include "tests/wire/lines.h"
#include "tests/wire/settings.h"

using namespace tfabric;
using namespace tfabric::wire;

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

void check(const Impairments& impairments) {
  for (const double share : {impairments.loss, impairments.burst, impairments.burst_loss, impairments.corrupt,
                             impairments.corrupt_valid, impairments.duplicate, impairments.reorder}) {
    TFABRIC_REQUIRE(share >= 0 && share <= 1);
  }
  for (const Duration time : {impairments.delay, impairments.jitter, impairments.reorder_delay}) {
    TFABRIC_REQUIRE(time >= Duration::zero() && time <= std::chrono::hours(1));
  }
  TFABRIC_REQUIRE(impairments.burst_length >= 1 && std::isfinite(impairments.burst_length));
  const std::string shown = show_settings(impairments);
  const auto again = apply_settings({}, words_of(shown));
  TFABRIC_REQUIRE(again && show_settings(*again) == shown);
}

void try_line(const std::string& line) {
  const auto request = parse_request(line);
  if (!request) {
    TFABRIC_REQUIRE(request.error().code == Errc::invalid_usage && !request.error().message.empty());
    return;
  }
  if (request->kind != Request::Kind::set) {
    return;
  }
  TFABRIC_REQUIRE(!request->words.empty() && !request->json);
  if (const auto impairments = apply_settings({}, request->words)) {
    check(*impairments);
  } else {
    TFABRIC_REQUIRE(impairments.error().code == Errc::invalid_usage);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t piece = std::max<std::size_t>(data[0], 1);
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  Lines lines;
  std::size_t cut = 0;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    if (!lines.take(all.substr(at, piece))) {
      TFABRIC_REQUIRE(all.substr(cut).find('\n') > Lines::kMaxLine);
      return 0;
    }
    while (const auto line = lines.next()) {
      TFABRIC_REQUIRE(line->size() <= Lines::kMaxLine && all.substr(cut, line->size()) == *line);
      cut += line->size() + 1;
      try_line(*line);
    }
  }
  return 0;
}
