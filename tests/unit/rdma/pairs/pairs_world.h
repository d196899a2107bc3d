// Two ends of a comm over pairs, in virtual time: an Outbox and its Burials, an Inbox and its Graves, and
// between them a wire that loses nothing, as the lane of the kernel's TCP beside the pairs does not. Ports
// fall silent, devices die, processes stand still, and either end gives up lanes that live; all of it from a
// seed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/rdma/pairs/made_up_verbs.h"
#include "tests/unit/rdma/pairs/one_way.h"
#include "transport/engine/engine.h"
#include "transport/rdma/pairs/port_carrier.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/outbox.h"

namespace tfabric::rdma::pairs::test {

using rdma::test::MadeUpVerbs;

// What a test may leave out.
struct Rules {
  bool fence = true;      // the receiver says a lane's position when its fence is through
  bool own_fence = true;  // the sender says that it has closed a lane, and deals again, when its own is
  bool credit = true;     // the sender gives no more than the receiver has room for
  bool position = true;   // what is dealt again is what the receiver does not have
};

// Jobs that take their time.
class SlowControl final : public Control {
 public:
  explicit SlowControl(SeededRandom random) : random_(random) {}
  void run(std::function<int()> job, std::function<void(int)> done) override;
  void take_results() override TF_IN_TURN;
  [[nodiscard]] Instant next() const { return jobs_.empty() ? kNever : jobs_.front().at; }

 private:
  struct Job {
    Instant at;
    std::function<int()> job;
    std::function<void(int)> done;
  };
  SeededRandom random_;
  std::deque<Job> jobs_;
};

class PairsWorld {
 public:
  struct Outcome {
    std::string fault;       // what is wrong; empty: nothing
    bool lost_data = false;  // a device died with what it had acknowledged, and the comm has said so
    std::uint64_t buried = 0, dealt_again = 0, late_writes = 0;
  };
  PairsWorld(std::uint64_t seed, const Rules& rules);
  ~PairsWorld();
  Outcome run() TF_IN_TURN;

 private:
  static constexpr std::size_t kWhole = stripe::kMaxEagerBytes;  // of a message that is not cut

  struct Host;
  class Sender;
  class Receiver;
  // Of the wire beside the pairs, to one end.
  struct Mail {
    Instant at;
    std::function<void()> what;
  };
  struct Message {
    std::uint32_t size = 0;
    std::string text;
    stripe::Completion send, receive;
    bool sent = false, received = false;
  };

  void draw_messages();
  void add_port();
  void mail(std::size_t to, std::function<void()> what);
  void draw_fault();
  void look();
  void step() TF_IN_TURN;
  [[nodiscard]] Instant next_time() const;
  [[nodiscard]] bool may_write(std::uint64_t address, std::uint32_t length) const;
  [[nodiscard]] bool may_read(std::uint64_t address, std::uint32_t length) const;
  void broken(const std::string& why);

  Rules rules_;
  SeededRandom random_;
  MadeUpVerbs verbs_;
  std::array<std::unique_ptr<Host>, 2> hosts_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  std::array<std::deque<Mail>, 2> mail_;
  std::deque<Message> messages_;
  std::size_t first_ = 0;      // that is not over at both ends
  std::size_t slot_ = kWhole;  // bytes of memory for each message
  std::string from_, to_;      // that memory, by number
  std::array<Instant, 2> still_until_{};
  Instant next_fault_{}, next_tick_{};
  std::size_t faults_ = 0, most_open_ = 12;
  bool killed_ = false;
  Outcome outcome_;
};

}  // namespace tfabric::rdma::pairs::test
