#include "transport/tcp/stack/sent_segments.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

namespace {

// The same by a list that is searched from end to end.
struct Model {
  struct Segment {
    std::uint64_t start;
    std::uint32_t size;
    int order;  // of sending
    bool sacked = false, lost = false, repeated = false;
  };
  std::deque<Segment> segments;
  int order = 0;

  [[nodiscard]] std::uint64_t bytes(bool sacked, bool lost) const {
    std::uint64_t sum = 0;
    for (const Segment& segment : segments) {
      sum += segment.sacked == sacked && segment.lost == lost ? segment.size : 0;
    }
    return sum;
  }
};

void compare(SentSegments& real, const Model& model) {
  REQUIRE(real.size() == model.segments.size());
  REQUIRE(real.in_network() == model.bytes(false, false));
  std::uint64_t repeated = 0;
  for (const Model::Segment& segment : model.segments) {
    repeated += segment.repeated && !segment.sacked && !segment.lost ? segment.size : 0;
  }
  REQUIRE(real.repeated_bytes() == repeated);
  REQUIRE(real.lost_bytes() == model.bytes(false, true));
  REQUIRE(real.sacked_bytes() == model.bytes(true, false));
  std::vector<std::pair<int, std::uint64_t>> in_order;
  bool first_lost = true;
  for (std::size_t i = 0; i < model.segments.size(); ++i) {
    const Model::Segment& expected = model.segments[i];
    const auto number = real.first() + static_cast<SentSegments::Number>(i);
    const SentSegment& segment = real.at(number);
    REQUIRE(segment.start == expected.start);
    REQUIRE(segment.size == expected.size);
    REQUIRE(segment.sacked == expected.sacked);
    REQUIRE(segment.lost == expected.lost);
    REQUIRE(real.find(expected.start) == number);
    REQUIRE(real.find(expected.start + expected.size - 1) == number);
    if (expected.lost && first_lost) {
      first_lost = false;
      REQUIRE(real.first_lost() == number);
    }
    if (!expected.lost && !expected.sacked) {
      in_order.emplace_back(expected.order, expected.start);
    }
  }
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  SentSegments::Number at = real.oldest();
  for (const auto& [order, start] : in_order) {
    REQUIRE(real.at(at).start == start);
    if (start == in_order.back().second) {
      REQUIRE(at == real.newest());
    }
    at = real.at(at).next;
  }
}

// The first lost one and those behind it, of `most` bytes at most.
void join_lost(SentSegments& real, Model& model, std::uint32_t most) {
  auto& segments = model.segments;
  const auto first = std::find_if(segments.begin(), segments.end(), [](const auto& s) { return s.lost; });
  if (first == segments.end()) {
    return;
  }
  const SentSegments::Number number = real.first_lost();
  const std::uint32_t bytes = real.lost_run(number, most);
  auto next = first + 1;
  while (next != segments.end() && next->lost && first->size + next->size <= most) {
    first->size += next->size;
    first->repeated |= next->repeated;
    ++next;
  }
  REQUIRE(bytes == first->size);
  const SentSegments::Number last = real.find(first->start + bytes - 1);
  REQUIRE(real.join(number, last) == last);
  segments.erase(first + 1, next);
}

}  // namespace

TEST_CASE("sent segments are what a slow model says, in the order of the stream and of sending") {
  const unsigned seed = GENERATE(range(1u, 31u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  SentSegments real;
  Model model;
  std::uint64_t snd_nxt = 0;
  Instant now{};
  for (int step = 0; step < 600; ++step) {
    now += 1us;
    const auto n = model.segments.empty() ? 0 : random() % model.segments.size();
    const auto number = real.first() + static_cast<SentSegments::Number>(n);
    switch (random() % 11) {
      case 0:
      case 1:
      case 2: {
        const auto size = static_cast<std::uint32_t>(1 + random() % 9);
        real.add(snd_nxt, size, now);
        model.segments.push_back({snd_nxt, size, ++model.order});
        snd_nxt += size;
        break;
      }
      case 3:
        if (!model.segments.empty()) {
          real.remove_first();
          model.segments.pop_front();
        }
        break;
      case 4:
        if (!model.segments.empty() && model.segments[0].size > 1) {
          real.trim_first(1);
          ++model.segments[0].start;
          --model.segments[0].size;
        }
        break;
      case 5:
        if (!model.segments.empty()) {
          real.mark_sacked(number);
          model.segments[n].sacked = true;
          model.segments[n].lost = false;
        }
        break;
      case 6:
        if (!model.segments.empty() && !model.segments[n].sacked && !model.segments[n].lost) {
          real.mark_lost(number);
          model.segments[n].lost = true;
        }
        break;
      case 7:
        if (!model.segments.empty() && !model.segments[n].sacked) {
          real.resend(number, now);
          model.segments[n].lost = false;
          model.segments[n].repeated = true;
          model.segments[n].order = ++model.order;
        }
        break;
      case 8:
        if (!model.segments.empty() && model.segments[n].size > 1) {
          const auto size = static_cast<std::uint32_t>(1 + random() % (model.segments[n].size - 1));
          real.split(number, size);
          Model::Segment back = model.segments[n];
          back.start += size;
          back.size -= size;
          model.segments[n].size = size;
          model.segments.insert(model.segments.begin() + static_cast<std::ptrdiff_t>(n) + 1, back);
        }
        break;
      case 9:
        join_lost(real, model, random() % 20);
        break;
      case 10:
        switch (random() % 12) {
          case 0:
            real.mark_all_lost();
            for (Model::Segment& segment : model.segments) {
              segment.lost = !segment.sacked;
            }
            break;
          case 1:
            real.unmark_lost();
            for (Model::Segment& segment : model.segments) {
              segment.lost = false;
            }
            break;
          case 2:
            real.forget_sacks();
            for (Model::Segment& segment : model.segments) {
              segment.sacked = false;
            }
            break;
          default:
            break;
        }
        break;
    }
    compare(real, model);
  }
}
