// Random runs of both ends of a comm over lanes that die at any byte, at either end, and for no reason.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/sanitized.h"
#include "tests/unit/stripe/two_ends.h"

using namespace tfabric;
using namespace tfabric::stripe;

namespace {

constexpr std::byte kUntouched{0xa5};  // in the memory of a receive
constexpr std::byte kScribble{0x5a};   // in that of a send, from when it is done
constexpr std::byte kCanary{0xc3};     // in that of a receive, from when it is done

// What all messages are parts of.
const std::vector<std::byte>& text() {
  static const std::vector<std::byte> bytes = [] {
    SeededRandom random(1);
    std::vector<std::byte> made(300'000);
    std::generate(made.begin(), made.end(), [&] { return static_cast<std::byte>(random.next()); });
    return made;
  }();
  return bytes;
}

// A message, its memory at both ends, and what NCCL does with that when it is done.
struct Transfer {
  Transfer(std::size_t size, std::size_t spare)
      : sent(text().begin(), text().begin() + static_cast<std::ptrdiff_t>(size)),
        received(size + spare, kUntouched) {}

  // Looks at both completions. Returns what is wrong; empty if nothing is.
  std::string look() {
    using State = Completion::State;
    if (send.state == State::failed || receive.state == State::failed) {
      return "a request has failed";
    }
    bool right = true;
    if (!send_over && send.state == State::done) {
      send_over = true;
      right = send.sizes[0] == sent.size();
      std::fill(sent.begin(), sent.end(), kScribble);
    }
    if (!receive_over && receive.state == State::done) {
      receive_over = true;
      right = right && is_whole();
      std::fill(received.begin(), received.end(), kCanary);
    }
    return right ? "" : "a message has arrived that was not sent";
  }
  [[nodiscard]] bool is_whole() const {
    return receive.sizes[0] == sent.size() &&
           std::equal(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(sent.size()),
                      text().begin()) &&
           std::all_of(received.begin() + static_cast<std::ptrdiff_t>(sent.size()), received.end(),
                       [](std::byte byte) { return byte == kUntouched; });
  }
  [[nodiscard]] bool canary_lives() const {
    return std::all_of(received.begin(), received.end(), [](std::byte byte) { return byte == kCanary; });
  }

  std::vector<std::byte> sent, received;
  Completion send, receive;
  bool send_over = false, receive_over = false;
};

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const Rules& rules)
      : random_(seed),
        lanes_(random_.between(1, 4)),
        deaths_(random_.between(0, 6)),
        ends_({.eager_bytes = random_.chance(0.7) ? kMaxEagerBytes : 1000,
               .copies = random_.chance(0.5) ? &copies_ : nullptr},
              4096u << random_.between(0, 5), rules) {
    for (std::uint64_t i = random_.between(1, 20); i > 0; --i) {
      transfers_.push_back(
          std::make_unique<Transfer>(size(), random_.between(0, 1) * random_.between(0, 100)));
    }
    while (ends_.ways() < lanes_) {
      open();
    }
  }

  ~RandomRun() { ends_.outbox.drop_copies(); }  // of a run that has found a fault
  RandomRun(const RandomRun&) = delete;
  RandomRun& operator=(const RandomRun&) = delete;

  // Returns what has gone wrong; empty if all messages have arrived.
  std::string go() {
    for (std::uint64_t steps = random_.between(0, 1000); steps > 0 && fault().empty(); --steps) {
      step();
      look();
    }
    while (fault().empty() && finish()) {
      look();
    }
    if (fault().empty()) {
      look_at_end();
    }
    return fault();
  }
  [[nodiscard]] std::uint64_t dealt_again() const { return ends_.outbox.dealt_again(); }

 private:
  std::uint64_t size() {
    static constexpr std::array<std::uint64_t, 6> kMost{0, 200, 4096, 16384, 65536, 300'000};
    const std::uint64_t most = kMost[random_.between(0, 99) % (random_.chance(0.2) ? 6 : 5)];
    return random_.between(most / 2, most);
  }
  std::uint64_t bytes() {
    static constexpr std::array<std::uint64_t, 4> kMost{1, 200, 5000, 100'000};
    return random_.between(1, kMost[random_.next() % 4]);
  }
  std::size_t any_way() { return random_.between(0, ends_.ways() - 1); }
  [[nodiscard]] std::string fault() const { return fault_.empty() ? ends_.broken() : fault_; }

  void open() {
    ends_.open();
    ends_.way(ends_.ways() - 1).lane.limit =
        random_.chance(0.5) ? 1u << 30 : random_.between(40'000, 200'000);
  }
  bool post_send() {
    if (posted_sends_ == transfers_.size()) {
      return false;
    }
    Transfer& transfer = *transfers_[posted_sends_];
    ends_.outbox.post({.data = transfer.sent.data(),
                       .size = static_cast<std::uint32_t>(transfer.sent.size()),
                       .group = {static_cast<std::uint32_t>(posted_sends_++)}},
                      &transfer.send);
    return true;
  }
  bool post_receive() {
    if (posted_receives_ == transfers_.size()) {
      return false;
    }
    Transfer& transfer = *transfers_[posted_receives_++];
    return ends_.post({transfer.received.data(), transfer.received.size(), 0, nullptr}, &transfer.receive)
        .ok();
  }

  void step() {
    const std::size_t way = any_way();
    const std::uint64_t what = random_.between(0, 99);
    if (what < 35) {
      ends_.deliver(way, bytes());
    } else if (what < 48) {
      ends_.acknowledge(way);
    } else if (what < 60) {
      ends_.hear(way);
    } else if (what < 72) {
      ends_.pump();
    } else if (what < 80) {
      post_send();
    } else if (what < 88) {
      post_receive();
    } else if (what < 91 && deaths_ > 0) {
      deaths_ -= (what % 2 == 0 ? ends_.sender_closes(way) : ends_.receiver_closes(way)) ? 1 : 0;
    } else if (what < 95) {
      notice(way);
    } else if (what < 97) {
      ends_.lose(way);
    } else if (!ends_.any_lives() || ends_.ways() < lanes_ + 3) {
      open();
    }
  }
  // One end finds that the other has closed a lane.
  bool notice(std::size_t number) {
    const TwoEnds::Way& way = ends_.way(number);
    return (way.sender == TwoEnds::End::closed && ends_.receiver_closes(number)) ||
           (way.receiver == TwoEnds::End::closed && ends_.sender_closes(number));
  }
  // Lets everything happen that has to, without a death. Returns false if there was nothing.
  bool finish() {
    bool any = false;
    while (post_send() || post_receive()) {
      any = true;
    }
    if (!ends_.any_lives()) {
      open();
      any = true;
    }
    any = ends_.pump() || any;
    for (std::size_t way = 0; way < ends_.ways(); ++way) {
      any = ends_.deliver(way, ~std::uint64_t{0}) || any;
      any = ends_.acknowledge(way) || any;
      any = ends_.hear(way) || any;
      any = notice(way) || any;
    }
    return any;
  }
  void look() {
    for (const auto& transfer : transfers_) {
      if (std::string wrong = transfer->look(); fault_.empty()) {
        fault_ = std::move(wrong);
      }
    }
  }
  void look_at_end() {
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const Transfer& transfer = *transfers_[i];
      if (!transfer.send_over || !transfer.receive_over) {
        fault_ = "message " + std::to_string(i) + " never ends";
      } else if (!transfer.canary_lives()) {
        fault_ = "message " + std::to_string(i) + " was written to when it was done";
      }
    }
    if (!ends_.burials.empty() || !ends_.graves.unsettled().empty()) {
      fault_ = "a burial is never over";
    }
    if (ends_.outbox.outstanding() + ends_.inbox.outstanding() > 0 || ends_.inbox.has_aside()) {
      fault_ = "something is left";
    }
    if (copies_.in_use() > 0) {
      fault_ = "a copy is left";
    }
  }

  SeededRandom random_;
  std::uint64_t lanes_, deaths_;
  CopyPool copies_;
  TwoEnds ends_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::size_t posted_sends_ = 0, posted_receives_ = 0;
  std::string fault_;
};

// Returns the first seed that finds a fault; 0 if none of `count` does.
std::uint64_t first_fault(const Rules& rules, std::uint64_t count) {
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    if (!RandomRun(seed, rules).go().empty()) {
      return seed;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("every message arrives once and whole, however lanes die") {
  constexpr std::uint64_t seeds = tfabric::test::kSanitized ? 1000 : 20'000;
  std::uint64_t dealt_again = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    RandomRun run(seed, {.settled_first = seed % 2 == 0});
    INFO("seed " << seed);
    REQUIRE(run.go() == "");
    dealt_again += run.dealt_again();
  }
  CHECK(dealt_again > seeds * 1000);
}

TEST_CASE("random runs find each rule that is left out") {
  CHECK(first_fault({}, 100) == 0);
  CHECK(first_fault({.asks = false}, 100) > 0);
  CHECK(first_fault({.fences = false}, 100) > 0);
  CHECK(first_fault({.tells_all = false}, 1000) > 0);
  CHECK(first_fault({.repeats = false}, 100) > 0);
  CHECK(first_fault({.says_settled = false}, 100) > 0);
}
