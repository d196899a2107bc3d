// Announcements of receives, some of which arrive late.
#include "transport/rdma/pairs/announcements.h"

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/sanitized.h"

using namespace tfabric;
using namespace tfabric::rdma::pairs;

namespace {

// Delivers what it has written in order, one announcement per deliver().
class WrittenPair final : public Speaker {
 public:
  WrittenPair(Announcer& from, AnnouncedReceives& to, std::uint32_t serial)
      : from_(&from), to_(&to), serial_{serial} {}
  bool announce(std::size_t slot) override {
    way_.emplace_back(slot, from_->block().slots[slot]);
    return true;
  }
  [[nodiscard]] stripe::LaneSerial speaker_serial() const override { return serial_; }
  [[nodiscard]] bool can_speak() const override { return alive; }

  bool deliver() {
    if (way_.empty()) {
      return false;
    }
    to_->block().slots[way_.front().first] = way_.front().second;
    way_.pop_front();
    return true;
  }
  void destroy() { way_.clear(); }

  bool alive = true;

 private:
  Announcer* from_;
  AnnouncedReceives* to_;
  stripe::LaneSerial serial_;
  std::deque<std::pair<std::size_t, Announcement>> way_;
};

// A sender and a receiver with two pairs at a time, which end now and then; what an old one has written may
// come until the sender's end of it is destroyed. Returns how many receives the sender could not find in the
// end. `waits`: the sender says that it has released a pair only when it has destroyed it.
std::size_t missing(std::uint64_t seed, bool waits) {
  SeededRandom random(seed);
  Announcer announcer;
  AnnouncedReceives announced;
  std::vector<std::unique_ptr<WrittenPair>> pairs;
  std::uint32_t serial = 0, posted = 0, seen = 0;
  bool right = true;
  std::deque<std::uint32_t> open;  // groups that the sender knows, and has not sent to
  const auto speak = [&] {
    std::vector<Speaker*> all;
    for (const auto& pair : pairs) {
      all.push_back(pair.get());
    }
    announcer.speak(all);
  };
  const auto see = [&] {
    while (const auto group = announced.next()) {
      right = right && group->group.value == seen;
      open.push_back(seen++);
    }
  };
  const auto send = [&] {
    const auto place = open.empty() ? std::nullopt : announced.find({open.front()}, {}, 1);
    if (place) {
      right = right && place->address == open.front() * 1000 && place->key == open.front() + 1;
      open.pop_front();
    }
  };
  const auto open_pair = [&] {
    pairs.push_back(std::make_unique<WrittenPair>(announcer, announced, ++serial));
  };
  open_pair();
  open_pair();
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t what = random.between(0, 499);
    if (what < 225 && posted - (seen - static_cast<std::uint32_t>(open.size())) < kReceives) {
      const Announcer::Buffer buffer{
          .address = posted * 1000, .size = 8, .tag = 1, .keys = {0, posted + 1, 0, 0}};
      announcer.post({posted++}, std::span(&buffer, 1));
      speak();
    } else if (what < 350) {
      WrittenPair& pair = *pairs[random.between(0, pairs.size() - 1)];
      // What an old pair has written may be held up for long.
      const std::uint64_t most = pair.alive ? 6 : random.chance(0.02) ? 100 : 0;
      for (std::uint64_t n = random.between(0, most); n > 0; --n) {
        pair.deliver();
      }
    } else if (what < 499) {
      see();
      send();
      send();
    } else if (WrittenPair& pair = *pairs[random.between(0, pairs.size() - 1)]; pair.alive) {
      pair.alive = false;
      announcer.on_ended(pair.speaker_serial());
      open_pair();
      if (!waits) {
        announcer.on_released(pair.speaker_serial());
      }
    } else {
      pair.destroy();
      announcer.on_released(pair.speaker_serial());
      std::erase_if(pairs, [&](const auto& each) { return each.get() == &pair; });
    }
    speak();
  }
  for (const auto& pair : pairs) {
    if (!pair->alive) {
      pair->destroy();
      announcer.on_released(pair->speaker_serial());
    }
  }
  speak();
  std::size_t before = 0;
  do {
    before = posted - seen + open.size();
    for (const auto& pair : pairs) {
      while (pair->deliver()) {
      }
    }
    see();
    send();
  } while (posted - seen + open.size() < before);
  REQUIRE(right);
  return posted - seen + open.size();
}

}  // namespace

TEST_CASE("the sender finds each receive, whatever comes late of pairs that have ended") {
  for (std::uint64_t seed = 1; seed <= (tfabric::test::kSanitized ? 20 : 200); ++seed) {
    INFO("seed " << seed);
    REQUIRE(missing(seed, /*waits=*/true) == 0);
  }
}

TEST_CASE("where a pair speaks before the old one is destroyed, receives are lost") {
  std::uint64_t seed = 1;
  while (seed <= 200 && missing(seed, /*waits=*/false) == 0) {
    ++seed;
  }
  CHECK(seed <= 200);
}

TEST_CASE(
    "a group is known once all of its receives are, and a slot of another receive is not taken for it") {
  Announcer announcer;
  AnnouncedReceives announced;
  WrittenPair pair(announcer, announced, 1);
  std::vector<Announcer::Buffer> buffers(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    buffers[i] = {.address = i, .size = i, .tag = 10 + i, .keys = {}};
  }
  announcer.post({0}, buffers);
  Speaker* speaker = &pair;
  announcer.speak(std::span(&speaker, 1));
  CHECK_FALSE(announcer.has_unsaid());
  CHECK_FALSE(announced.next());
  pair.deliver();
  pair.deliver();
  CHECK_FALSE(announced.next());
  CHECK_FALSE(announced.find({0}, {1}, 0));
  pair.deliver();
  const auto group = announced.next();
  REQUIRE(group);
  CHECK((group->group.value == 0 && group->count == 3 && group->tags[2] == 12));
  CHECK(announced.find({0}, {2}, 0)->address == 2);
  CHECK_FALSE(announced.find({0}, {3}, 0));
  CHECK_FALSE(announced.find({0}, {0}, rdma::kMaxRails));
  CHECK_FALSE(announced.next());
  announced.block().slots[1].number += static_cast<std::uint32_t>(kReceives);
  CHECK_FALSE(announced.find({0}, {1}, 0));
}
