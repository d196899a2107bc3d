// Both ends of comms over a fabric that is driven by a seed: sizes, tags, groups, queue pairs, rails, delays,
// failures, deregistration and closing in use. Every byte is compared, and no byte may be written outside of
// receives that are posted and not done.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "comm_world.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using transport::MemoryKind;
using transport::ReceiveBuffer;

namespace {

constexpr std::size_t kArena = 256u << 10;
constexpr std::size_t kGap = 16;  // between buffers; must not be written

struct Message {
  std::size_t from = 0;  // in the sender's arena
  std::size_t to = 0;    // in the receiver's
  std::size_t size = 0, capacity = 0;
  int tag = 0;
};

struct Group {
  std::vector<Message> receives;  // as posted
  std::vector<std::size_t> sent;  // the order in which they are sent
  transport::Request* receive = nullptr;
  bool done = false;
};

struct Sent {
  transport::Request* request = nullptr;
  std::size_t from = 0, size = 0;
};

enum class Trouble : std::uint8_t {
  none,
  completion,
  close_sender,
  close_receiver,
  free_sent,
  free_received
};

class Storm {
 public:
  explicit Storm(std::uint64_t seed)
      : random_(seed),
        rails_(random_.between(std::uint64_t{1}, 2u)),
        max_message_bytes_(draw_max_message()),
        options_(draw_options()),
        world_(seed, rails_, max_message_bytes_),
        pair_(world_, draw_own(options_), options_),
        out_(kArena),
        in_(kArena) {
    fill(out_);
    fill(in_);
    content_ = out_;
    expected_ = in_;
    draw_groups();
    if (random_.chance(0.4)) {
      trouble_ = static_cast<Trouble>(random_.between(std::uint64_t{1}, 5u));
      trouble_at_ = random_.between(std::uint64_t{1}, 12 * groups_.size());
    }
    out_region_ = good(pair_.send->register_memory(out_.data(), out_.size(), MemoryKind::host));
    in_region_ = good(pair_.receive->register_memory(in_.data(), in_.size(), MemoryKind::host));
    // The HCA's region outlives the registration with which receives are posted.
    good(pair_.receive->register_memory(in_.data(), in_.size(), MemoryKind::host));
    world_.fabric.may_write = [this](std::uint64_t address, std::uint32_t length) {
      return is_allowed(address, length);
    };
  }

  void run() {
    std::uint64_t turns = 0;
    while (!over()) {
      if (++turns == trouble_at_) {
        make_trouble();
      }
      REQUIRE(turns < 500000);
      act();
    }
    finish();
  }

 private:
  void fill(std::vector<std::byte>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
      const std::uint64_t word = random_.next();
      std::memcpy(&bytes[i], &word, sizeof(word));
    }
  }
  std::uint32_t draw_max_message() {
    constexpr std::array<std::uint32_t, 3> kSizes{1u << 30, 256, 1024};
    return kSizes[random_.between(std::uint64_t{0}, 2u)];
  }
  ConnectionOptions draw_options() {
    constexpr std::array<std::uint64_t, 3> kSplit{~std::uint64_t{0}, 0, 1500};
    ConnectionOptions options;
    options.queue_pairs = static_cast<std::uint8_t>(random_.between(std::uint64_t{1}, 4u));
    options.split_bytes = kSplit[random_.between(std::uint64_t{0}, 2u)];
    return draw_own(options);
  }
  // Options on which the two ends need not agree.
  ConnectionOptions draw_own(ConnectionOptions options) {
    options.inline_bytes = random_.chance(0.5) ? 64 : 0;
    options.adaptive_routing_bytes = random_.chance(0.3) ? 700 : ~std::uint64_t{0};
    return options;
  }

  void draw_groups() {
    // Sometimes so many that the ring of announcements wraps around.
    const std::size_t groups = random_.between(std::uint64_t{5}, random_.chance(0.2) ? 400u : 40u);
    const int tags = static_cast<int>(random_.between(std::uint64_t{1}, 8u));
    const std::size_t largest = random_.chance(0.5) ? 200 : 4000;
    std::size_t from = 0, to = kGap;
    for (std::size_t g = 0; g < groups; ++g) {
      Group group;
      const std::size_t members = random_.chance(0.6) ? 1 : random_.between(std::uint64_t{2}, 8u);
      for (std::size_t i = 0; i < members; ++i) {
        Message message;
        message.capacity = random_.between(std::uint64_t{0}, largest);
        message.to = to;
        message.tag =
            static_cast<int>(random_.between(std::uint64_t{0}, static_cast<std::uint64_t>(tags))) - 1;
        to += message.capacity + kGap;
        group.receives.push_back(message);
        group.sent.push_back(i);
      }
      if (to > kArena) {
        break;
      }
      draw_order(group);
      for (const std::size_t i : group.sent) {
        Message& message = group.receives[i];
        message.size = random_.chance(0.2) ? 0 : random_.between(std::uint64_t{0}, message.capacity);
        message.from = from;
        from += message.size;
      }
      groups_.push_back(group);
    }
  }

  // Any order, except that receives with the same tag are used in order.
  void draw_order(Group& group) {
    for (std::size_t i = group.sent.size(); i > 1; --i) {
      std::swap(group.sent[i - 1], group.sent[random_.between(std::uint64_t{0}, i - 1)]);
    }
    std::map<int, std::vector<std::size_t>> by_tag;
    for (std::size_t i = group.receives.size(); i > 0; --i) {
      by_tag[group.receives[i - 1].tag].push_back(i - 1);
    }
    for (std::size_t& i : group.sent) {
      std::vector<std::size_t>& left = by_tag[group.receives[i].tag];
      i = left.back();
      left.pop_back();
    }
  }

  [[nodiscard]] bool is_allowed(std::uint64_t address, std::uint32_t length) const {
    const auto base = reinterpret_cast<std::uint64_t>(in_.data());
    if (address < base || address >= base + kArena) {
      return true;  // the comm's own
    }
    const std::size_t at = address - base;
    return !in_is_freed_ &&
           std::any_of(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(posted_),
                       [&](const Group& group) {
                         return !group.done && std::any_of(group.receives.begin(), group.receives.end(),
                                                           [&](const Message& message) {
                                                             return at >= message.to &&
                                                                    at + length <= message.to + message.size;
                                                           });
                       });
  }

  void act() {
    switch (random_.between(std::uint64_t{0}, 5u)) {
      case 0:
        return post_receive();
      case 1:
        return post_send();
      case 2:
        return test_receive();
      case 3:
        return test_send();
      default:
        world_.fabric.step();
    }
  }

  void post_receive() {
    if (!pair_.receive || posted_ == groups_.size() || receive_failed_) {
      return;
    }
    Group& group = groups_[posted_];
    std::vector<ReceiveBuffer> buffers;
    for (const Message& message : group.receives) {
      buffers.push_back({.data = in_.data() + message.to,
                         .size = message.capacity,
                         .tag = message.tag,
                         .region = in_region_});
    }
    const auto request = pair_.receive->irecv(buffers);
    if (!request) {
      note_failure(receive_failed_, request.error());
    } else if (*request != nullptr) {
      group.receive = *request;
      ++posted_;
    }
  }

  void post_send() {
    if (!pair_.send || sending_ == groups_.size() || send_failed_) {
      return;
    }
    const Group& group = groups_[sending_];
    const Message& message = group.receives[group.sent[sent_of_group_]];
    const auto request =
        pair_.send->isend(out_.data() + message.from, message.size, message.tag, out_region_);
    if (!request) {
      note_failure(send_failed_, request.error());
    } else if (*request != nullptr) {
      sends_.push_back({.request = *request, .from = message.from, .size = message.size});
      if (++sent_of_group_ == group.sent.size()) {
        sent_of_group_ = 0;
        ++sending_;
      }
    }
  }

  // Tests the oldest, as NCCL does, or any.
  void test_receive() {
    std::vector<Group*> pending;
    for (Group& group : groups_) {
      if (group.receive != nullptr && !group.done) {
        pending.push_back(&group);
      }
    }
    if (!pair_.receive || pending.empty()) {
      return;
    }
    Group& group = *pending[random_.chance(0.7) ? 0 : random_.between(std::uint64_t{0}, pending.size() - 1)];
    std::array<int, transport::kMaxGroupedReceives> sizes{};
    const auto done = group.receive->test(sizes.data());
    if (!done) {
      note_failure(receive_failed_, done.error());
      group.receive = nullptr;
    } else if (*done) {
      group.done = true;
      check(group, sizes);
    }
  }

  void check(const Group& group, const std::array<int, transport::kMaxGroupedReceives>& sizes) {
    for (std::size_t i = 0; i < group.receives.size(); ++i) {
      const Message& message = group.receives[i];
      REQUIRE(sizes[i] == static_cast<int>(message.size));
      std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(message.from), message.size,
                  expected_.begin() + static_cast<std::ptrdiff_t>(message.to));
      REQUIRE(std::equal(in_.begin() + static_cast<std::ptrdiff_t>(message.to),
                         in_.begin() + static_cast<std::ptrdiff_t>(message.to + message.capacity),
                         expected_.begin() + static_cast<std::ptrdiff_t>(message.to)));
    }
  }

  void test_send() {
    if (!pair_.send || sends_.empty()) {
      return;
    }
    const std::size_t which = random_.chance(0.7) ? 0 : random_.between(std::uint64_t{0}, sends_.size() - 1);
    int size = -1;
    const auto done = sends_[which].request->test(&size);
    if (!done) {
      note_failure(send_failed_, done.error());
    } else if (*done) {
      const Sent& sent = sends_[which];
      REQUIRE(size == static_cast<int>(sent.size));
      // The buffer belongs to the user again.
      std::fill_n(out_.begin() + static_cast<std::ptrdiff_t>(sent.from), sent.size, std::byte{0});
    }
    if (!done || *done) {
      sends_.erase(sends_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  void note_failure(bool& failed, const Error& error) {
    INFO(error.message);
    REQUIRE(in_trouble_);
    // Memory that was deregistered while no request used it is refused on its own.
    if (error.code == Errc::invalid_argument) {
      given_up_ = true;
    } else {
      failed = true;
    }
  }

  void make_trouble() {
    in_trouble_ = trouble_ != Trouble::none;
    switch (trouble_) {
      case Trouble::none:
        return;
      case Trouble::completion: {
        const auto pairs = world_.fabric.queue_pairs();
        constexpr std::array kStatus{IBV_WC_RETRY_EXC_ERR,     IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR,
                                     IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_FATAL_ERR,      IBV_WC_GENERAL_ERR,
                                     IBV_WC_WR_FLUSH_ERR};
        world_.fabric.inject(pairs[random_.between(std::uint64_t{0}, pairs.size() - 1)],
                             kStatus[random_.between(std::uint64_t{0}, kStatus.size() - 1)], 0x42,
                             static_cast<unsigned>(random_.between(std::uint64_t{0}, 5u)));
        return;
      }
      case Trouble::close_sender:
        pair_.send.reset();
        return;
      case Trouble::close_receiver:
        pair_.receive.reset();
        in_is_freed_ = true;
        return;
      case Trouble::free_sent:
        REQUIRE(pair_.send->deregister_memory(out_region_).ok());
        out_region_ = nullptr;
        return;
      case Trouble::free_received:
        REQUIRE(pair_.receive->deregister_memory(in_region_).ok());
        in_region_ = nullptr;
        in_is_freed_ = true;
        return;
    }
  }

  [[nodiscard]] bool over() const {
    if (in_trouble_ && (given_up_ || send_failed_ || receive_failed_ || !pair_.send || !pair_.receive)) {
      return true;
    }
    return sending_ == groups_.size() && sends_.empty() &&
           std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.done; });
  }

  // Requests outstanding on a failed end finish with an error; the other end is closed.
  void finish() {
    if (send_failed_ && pair_.send) {
      for (const Sent& sent : sends_) {
        const auto done = sent.request->test(nullptr);
        REQUIRE((!done.ok() || *done));
      }
    }
    for (Group& group : groups_) {
      if (receive_failed_ && pair_.receive && group.receive != nullptr && !group.done) {
        const auto done = group.receive->test(nullptr);
        REQUIRE((!done.ok() || *done));
      }
    }
    const bool sender_first = random_.chance(0.5);
    (sender_first ? static_cast<void>(pair_.send.reset()) : static_cast<void>(pair_.receive.reset()));
    for (std::uint64_t i = random_.between(std::uint64_t{0}, 50u); i > 0; --i) {
      world_.fabric.step();
    }
    in_is_freed_ = in_is_freed_ || !sender_first;
    pair_.send.reset();
    pair_.receive.reset();
    world_.fabric.run();
    check_untouched();
    const FakeFabric& fabric = world_.fabric;
    for (const std::string& violation : fabric.violations) {
      FAIL(violation);
    }
    REQUIRE(fabric.not_ready == 0);
    REQUIRE(fabric.queue_pairs().empty());
    REQUIRE(fabric.cqs == 0);
    REQUIRE(fabric.mrs == 0);
  }

  // Except for messages that were under way at a failure.
  void check_untouched() {
    for (std::size_t g = 0; g < posted_; ++g) {
      for (const Message& message : groups_[g].receives) {
        if (!groups_[g].done) {
          std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(message.to), message.size,
                      expected_.begin() + static_cast<std::ptrdiff_t>(message.to));
        }
      }
    }
    REQUIRE(in_ == expected_);
  }

  SeededRandom random_;
  std::size_t rails_;
  std::uint32_t max_message_bytes_;
  ConnectionOptions options_;
  World world_;
  Pair pair_;
  std::vector<std::byte> out_, in_, content_, expected_;  // content_: what out_ was
  transport::MemoryRegion* out_region_ = nullptr;
  transport::MemoryRegion* in_region_ = nullptr;
  bool in_is_freed_ = false;
  std::vector<Group> groups_;
  std::size_t posted_ = 0, sending_ = 0, sent_of_group_ = 0;
  std::vector<Sent> sends_;
  Trouble trouble_ = Trouble::none;
  std::uint64_t trouble_at_ = 0;
  bool in_trouble_ = false, given_up_ = false, send_failed_ = false, receive_failed_ = false;
};

}  // namespace

TEST_CASE("for every seed, messages arrive whole in their receives, or the comm fails cleanly") {
#ifdef __OPTIMIZE__
  constexpr std::uint64_t kSeeds = 3000;
#else
  constexpr std::uint64_t kSeeds = 400;  // under sanitizers
#endif
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    INFO("seed " << seed);
    Storm(seed).run();
  }
}
