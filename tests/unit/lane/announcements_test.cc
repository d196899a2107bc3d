// Announcements of receives, some of which arrive late.
#include "transport/lane/announcements.h"

#include <array>
#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/wire_codec.h"
#include "tests/sanitized.h"
#include "tests/unit/comm/fake_lane.h"
#include "tests/unit/lane/made_up_memory.h"
#include "transport/lane/record.h"

using namespace tfabric;
using namespace tfabric::lane;
using tfabric::comm::test::FakeCarrier;
using tfabric::comm::test::FakeLane;
using tfabric::comm::test::MadeUpMemory;
using tfabric::comm::test::post;

namespace {

FakeCarrier& placing() {
  static FakeCarrier carrier("placing", {.places_remotely = true});
  return carrier;
}

// Writes announcements into the sender's memory, in order, one per deliver().
class WrittenPair final : public FakeLane {
 public:
  WrittenPair(AnnouncedReceives& to, std::uint32_t serial) : FakeLane(placing()), to_(&to) {
    enter({0}, {serial}, "receive");
  }
  bool announce(const AnnouncementBlock& block, std::uint32_t number) override {
    const std::uint32_t count = block.slots[slot_of(number)].count;
    for (std::uint32_t i = 0; i < count; ++i) {
      way_.emplace_back(slot_of(number + i), block.slots[slot_of(number + i)]);
    }
    return true;
  }
  bool deliver() {
    if (way_.empty()) {
      return false;
    }
    to_->block()->slots[way_.front().first] = way_.front().second;
    way_.pop_front();
    return true;
  }
  void destroy() { way_.clear(); }

  bool alive = true;

 private:
  AnnouncedReceives* to_;
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
  std::deque<MadeUpMemory> memories;  // of the receives, by group
  std::size_t rail = 1;               // by which the sender sends
  std::deque<std::uint32_t> open;     // groups that the sender knows, and has not sent to
  const auto speak = [&] {
    for (const auto& pair : pairs) {
      if (pair->alive && announcer.lacks_speaker()) {
        announcer.begin(*pair);
      }
    }
    announcer.speak();
  };
  const auto see = [&] {
    while (const auto group = announced.next()) {
      right = right && group->group.value == seen;
      open.push_back(seen++);
    }
  };
  const auto send = [&] {
    const auto place = open.empty() ? std::nullopt : announced.find({open.front()}, {}, rail);
    if (place) {
      right = right && place->address == open.front() * 1000 && place->key == open.front() + 1;
      open.pop_front();
    }
  };
  const auto open_pair = [&] { pairs.push_back(std::make_unique<WrittenPair>(announced, ++serial)); };
  // The adapter that knows the memory has died, and another one learns of what is open.
  const auto change_rail = [&] {
    const std::uint32_t first = seen - static_cast<std::uint32_t>(open.size());
    rail = 2;
    for (std::uint32_t group = first; group < posted; ++group) {
      memories[group].set_key(2, group + 1);
    }
    announcer.renew([&](stripe::GroupId group, stripe::ReceiveIndex) { return group.value >= first; });
  };
  open_pair();
  open_pair();
  for (int i = 0; i < 6000; ++i) {
    if (i == 3000) {
      change_rail();
    }
    const std::uint64_t what = random.between(0, 499);
    if (what < 225 && posted - (seen - static_cast<std::uint32_t>(open.size())) < kReceives) {
      memories.emplace_back(std::array{0u, posted + 1, rail == 2 ? posted + 1 : 0u, 0u});
      const Announcer::Buffer buffer{
          .address = posted * 1000, .size = 8, .tag = 1, .memory = &memories.back()};
      post(announcer, {posted++}, std::span(&buffer, 1));
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
      const stripe::LaneSerial ended = pair.serial();
      announcer.on_ended(pair);
      open_pair();
      if (!waits) {
        announcer.on_released(ended);
      }
    } else {
      pair.destroy();
      announcer.on_released(pair.serial());
      std::erase_if(pairs, [&](const auto& each) { return each.get() == &pair; });
    }
    speak();
  }
  for (const auto& pair : pairs) {
    if (!pair->alive) {
      pair->destroy();
      announcer.on_released(pair->serial());
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
  WrittenPair pair(announced, 1);
  const MadeUpMemory memory({7});
  std::vector<Announcer::Buffer> buffers(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    buffers[i] = {.address = i, .size = i, .tag = 10 + i, .memory = &memory};
  }
  post(announcer, {0}, buffers);
  announcer.begin(pair);
  announcer.speak();
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
  CHECK_FALSE(announced.find({0}, {0}, kMaxKeys));
  CHECK_FALSE(announced.find({0}, {2}, 1));  // that rail does not know it
  CHECK(announced.find({0}, {0}, 1));        // nothing is written there
  CHECK_FALSE(announced.next());
  announced.block()->slots[1].number += static_cast<std::uint32_t>(kReceives);
  CHECK_FALSE(announced.find({0}, {1}, 0));
}

TEST_CASE("a key that becomes known later is not taken while it is being written") {
  Announcer announcer;
  AnnouncedReceives announced;
  WrittenPair pair(announced, 1);
  MadeUpMemory memory({7});
  const std::vector<Announcer::Buffer> one{{.address = 64, .size = 8, .tag = 1, .memory = &memory}};
  post(announcer, {0}, one);
  announcer.begin(pair);
  announcer.speak();
  pair.deliver();
  REQUIRE(announced.next());
  REQUIRE(announced.find({0}, {}, 0));
  REQUIRE_FALSE(announced.find({0}, {}, 1));
  memory.set_key(1, 0x12345678);
  announcer.renew([](stripe::GroupId, stripe::ReceiveIndex) { return true; });
  const auto before = std::bit_cast<std::array<std::byte, sizeof(Announcement)>>(announced.block()->slots[0]);
  const auto after = std::bit_cast<std::array<std::byte, sizeof(Announcement)>>(announcer.block()->slots[0]);
  for (std::size_t there = 0; there <= sizeof(Announcement); ++there) {
    for (const bool from_front : {false, true}) {
      auto torn = from_front ? before : after;
      const auto& rest = from_front ? after : before;
      std::copy_n(rest.begin(), there, torn.begin());
      announced.block()->slots[0] = std::bit_cast<Announcement>(torn);
      const auto place = announced.find({0}, {}, 1);
      REQUIRE((!place || place->key == 0x12345678));
      REQUIRE(announced.find({0}, {}, 0)->key == 7);
    }
  }
  announcer.speak();
  pair.deliver();
  CHECK(announced.find({0}, {}, 1)->key == 0x12345678);
}

TEST_CASE("announcements by records are known once, in any order, and lead to no place") {
  Announcer announcer;
  AnnouncedReceives announced;
  const auto tell = [&](std::uint32_t number) {
    const auto record = encode_announcement(*announcer.block(), number);
    const auto header = decode(std::span(record).first<kRecordHeaderBytes>());
    REQUIRE((header && header->type == RecordType::announce && header->length <= kMaxControlBytes));
    return announced.take(header->group, std::span(record).subspan(kRecordHeaderBytes));
  };
  const std::vector<Announcer::Buffer> three{{.tag = 5}, {.tag = 6, .on_host = false}, {.tag = 7}},
      one{{.address = 9, .tag = 8}};
  post(announcer, {0}, three);
  post(announcer, {1}, one);
  REQUIRE(tell(4).ok());
  CHECK_FALSE(announced.next());
  REQUIRE(tell(1).ok());
  const auto first = announced.next();
  REQUIRE(first);
  CHECK((first->group.value == 0 && first->count == 3 && first->tags[2] == 7 && first->on_host == 0b101));
  const auto second = announced.next();
  REQUIRE(second);
  CHECK((second->group.value == 1 && second->count == 1 && second->tags[0] == 8));
  CHECK_FALSE(announced.find({1}, {0}, 0));
  // A lane that places writes the same receive again, with its place.
  announced.block()->slots[slot_of(4)] = announcer.block()->slots[slot_of(4)];
  CHECK(announced.find({1}, {0}, 0)->address == 9);
  // What comes again by another lane changes nothing.
  REQUIRE(tell(1).ok());
  REQUIRE(tell(4).ok());
  CHECK(announced.find({1}, {0}, 0));
  CHECK_FALSE(announced.next());
}

TEST_CASE("announcements that cannot be are refused") {
  AnnouncedReceives announced;
  const auto take = [&](std::uint32_t number, std::size_t bytes) {
    std::array<std::byte, 64> body{};
    WireWriter(body).u32(number).u8(std::uint8_t{1}).unused(3);
    return announced.take({0}, std::span(body).first(bytes)).ok();
  };
  CHECK_FALSE(take(1, 0));
  CHECK_FALSE(take(1, 8));
  CHECK_FALSE(take(1, 14));
  CHECK_FALSE(take(1, 8 + 4 * 9));
  CHECK_FALSE(take(2 + static_cast<std::uint32_t>(kReceives), 12));
  CHECK_FALSE(take(static_cast<std::uint32_t>(kReceives), 8 + 4 * 8));
  CHECK(take(0, 12));
  CHECK_FALSE(announced.next());
  CHECK(take(static_cast<std::uint32_t>(kReceives), 12));
  CHECK(take(1, 8 + 4 * 8));
  CHECK(announced.next()->count == 8);
}

TEST_CASE("what a lane has said by records, another one says again at once when it ends") {
  FakeCarrier carrier("wire");
  FakeLane first(carrier), second(carrier);
  Announcer announcer;
  const std::vector<Announcer::Buffer> two(2);
  CHECK(announcer.lacks_speaker());
  announcer.begin(first);
  post(announcer, {0}, two);
  first.has_room = false;
  announcer.speak();
  CHECK(announcer.has_unsaid());
  first.has_room = true;
  announcer.speak();
  CHECK_FALSE(announcer.has_unsaid());
  CHECK(first.said.size() == 1);
  announcer.on_ended(second);  // it has said nothing
  CHECK_FALSE(announcer.lacks_speaker());
  announcer.on_ended(first);
  REQUIRE(announcer.lacks_speaker());
  CHECK(announcer.has_unsaid());
  announcer.begin(second);
  announcer.speak();
  CHECK(second.said.size() == 1);
}

TEST_CASE(
    "receives that were posted while there was no lane are announced correctly, whatever the sizes of "
    "groups") {
  class Told final : public FakeLane {
   public:
    Told(FakeCarrier& carrier, AnnouncedReceives& to) : FakeLane(carrier), to_(&to) {}
    bool say(std::span<const std::byte> record) override {
      const auto header = decode(record.first<kRecordHeaderBytes>());
      REQUIRE(to_->take(header->group, record.subspan(kRecordHeaderBytes)).ok());
      return true;
    }

   private:
    AnnouncedReceives* to_;
  };
  FakeCarrier carrier("wire");
  Announcer announcer;
  AnnouncedReceives announced;
  Told first(carrier, announced), second(carrier, announced);
  std::uint32_t group = 0;
  const std::vector<Announcer::Buffer> three(3), eight(8);
  announcer.begin(first);
  for (int i = 0; i < 100; ++i) {
    post(announcer, {group++}, three);
    announcer.speak();
    REQUIRE(announced.next());
  }
  announcer.on_ended(first);
  for (int i = 0; i < 20; ++i) {
    post(announcer, {group++}, i % 2 == 0 ? eight : three);
  }
  announcer.begin(second);
  announcer.speak();
  CHECK_FALSE(announcer.has_unsaid());
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto next = announced.next();
    REQUIRE(next);
    CHECK((next->group.value == 100 + i && next->count == (i % 2 == 0 ? 8 : 3)));
  }
}

TEST_CASE("one thread takes groups while another one receives their announcements: each once, in order") {
  constexpr std::uint32_t kGroups = tfabric::test::kSanitized ? 4000 : 40'000;
  AnnouncedReceives announced;
  std::atomic<std::uint32_t> consumed{0};
  std::atomic<bool> right{true};
  std::thread user([&] {
    for (std::uint32_t group = 0; group < kGroups;) {
      if (const auto next = announced.next()) {
        right = right && next->group.value == group && next->count == 2 && next->tags[1] == group + 1;
        consumed.store(++group, std::memory_order_release);
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint32_t group = 0; group < kGroups; ++group) {
    while (group - consumed.load(std::memory_order_acquire) >= kReceives / 2) {
      std::this_thread::yield();
    }
    std::array<std::byte, 16> body{};
    WireWriter(body).u32(1 + 2 * group).u8(std::uint8_t{3}).unused(3).u32(group).u32(group + 1);
    const bool taken = announced.take({group}, body).ok() && announced.take({group}, body).ok();
    static_cast<void>(announced.find({group}, {0}, 0));
    right = right && taken;
  }
  user.join();
  CHECK(right);
}
