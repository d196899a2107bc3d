#include "tests/unit/rdma/pairs/pairs_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/unit/rdma/pairs/pairs_ends.h"

namespace tfabric::rdma::pairs::test {
namespace {

constexpr char kOver = '\xee', kUsedAgain = '\xdd';
constexpr Duration kTick = std::chrono::milliseconds(1);

}  // namespace

void SlowControl::run(std::function<int()> job, std::function<void(int)> done) {
  const Instant earliest = jobs_.empty() ? MadeUpVerbs::now() : jobs_.back().at;
  const bool slow = random_.chance(0.1);
  const Duration takes =
      random_.between(std::chrono::microseconds(5), std::chrono::microseconds(slow ? 20'000 : 500));
  jobs_.push_back({std::max(earliest, MadeUpVerbs::now()) + takes, std::move(job), std::move(done)});
}

void SlowControl::take_results() {
  while (!jobs_.empty() && jobs_.front().at <= MadeUpVerbs::now()) {
    Job next = std::move(jobs_.front());
    jobs_.pop_front();
    next.done(next.job());
  }
}

PairsWorld::PairsWorld(std::uint64_t seed, const Rules& rules)
    : rules_(rules), random_(seed), verbs_(random_.next()) {
  verbs_.timeout = random_.between(std::chrono::milliseconds(2), std::chrono::milliseconds(20));
  verbs_.delay = random_.between(std::chrono::microseconds(5), std::chrono::microseconds(200));
  verbs_.holds_up = random_.chance(0.5) ? 0 : 0.02;
  verbs_.bytes_per_ns = random_.chance(0.5) ? 2 : 0.05;
  draw_messages();
  hosts_ = {std::make_unique<Host>(), std::make_unique<Host>()};
  const std::size_t ports = random_.between(1, 3);
  for (std::size_t i = 0; i < ports; ++i) {
    add_port();
  }
  sender_ = std::make_unique<Sender>(*this);
  receiver_ = std::make_unique<Receiver>(*this);
  verbs_.may_write = [this](std::uint64_t address, std::uint32_t length) {
    return may_write(address, length);
  };
  verbs_.may_read = [this](std::uint64_t address, std::uint32_t length) { return may_read(address, length); };
  verbs_.lies_about_credit = !rules.credit;
  next_tick_ = MadeUpVerbs::now();
  next_fault_ = next_tick_ + random_.between(Duration{}, Duration(std::chrono::milliseconds(2)));
  faults_ = random_.between(0, 4);
}

// Many small ones, so that announcements' slots are used again; large ones, so that the window is; or some of
// each.
void PairsWorld::draw_messages() {
  const std::uint64_t kind = random_.between(0, 9);
  const bool many = kind == 0, large = kind == 1;
  messages_.resize(many ? random_.between(300, 600) : random_.between(10, large ? 15 : 60));
  slot_ = many ? 64 : large ? 4 * kWhole : kWhole + kWhole / 2;
  most_open_ = many ? random_.between(64, stripe::Inbox::kMaxGroups) : 12;
  from_.resize(messages_.size() * slot_);
  to_.resize(messages_.size() * slot_, kOver);
  char* from = from_.data();
  for (Message& message : messages_) {
    const std::uint64_t most = many || large || random_.chance(0.3) ? slot_ : 600;
    message.size = static_cast<std::uint32_t>(random_.between(large ? slot_ / 2 : 0, most));
    message.text.resize(message.size);
    const std::uint64_t text = random_.next() & 0x7f7f7f7f7f7f7f7f;
    for (std::size_t i = 0; i < message.text.size(); ++i) {
      message.text[i] = static_cast<char>((text >> (i % 8 * 8)) + i / 8 % 100);
    }
    message.text.copy(from, message.size);
    from += slot_;
  }
}

PairsWorld::~PairsWorld() {
  sender_.reset();
  receiver_.reset();
}

void PairsWorld::add_port() {
  for (std::size_t i = 0; i < 2; ++i) {
    Host& host = *hosts_[i];
    Port& port = *host.ports.emplace_back(std::make_unique<Port>());
    port.context = &verbs_.add_hca();
    port.pd.context = port.context;
    std::string& memory = i == 0 ? from_ : to_;
    port.memory = verbs_.verbs().reg_mr(&port.pd, memory.data(), memory.size(),
                                        i == 0 ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    auto control = std::make_unique<SlowControl>(random_.fork());
    port.control = control.get();
    PortCarrier::Options options;
    Rail rail{.verbs = &verbs_.verbs(), .context = port.context, .pd = &port.pd};
    rail.name = fmt::format("made{}:{}", i, host.ports.size());
    rail.max_message_bytes = 8192;
    port.way = std::make_unique<rdma::test::OneWay>(rail);
    options.ways = port.way.get();
    options.connection.now = MadeUpVerbs::now;
    options.connection.adaptive_routing_bytes = random_.chance(0.5) ? 1024 : ~std::uint64_t{0};
    options.control = std::move(control);
    options.memory = &port;
    port.carrier = std::make_unique<PortCarrier>(std::move(options));
  }
}

// --- what happens

void PairsWorld::mail(std::size_t to, std::function<void()> what) {
  const Duration takes = random_.between(std::chrono::microseconds(30), std::chrono::microseconds(400));
  const Instant before = mail_[to].empty() ? Instant{} : mail_[to].back().at;
  mail_[to].push_back({std::max(before, MadeUpVerbs::now() + takes), std::move(what)});
}

void PairsWorld::broken(const std::string& why) {
  if (outcome_.fault.empty()) {
    outcome_.fault = why;
  }
}

// The first port stays, so that the comm can go on.
void PairsWorld::draw_fault() {
  const Instant now = MadeUpVerbs::now();
  const auto within = [&](std::int64_t most) {
    return now + random_.between(Duration{}, Duration(std::chrono::milliseconds(most)));
  };
  if (faults_ == 0 || now < next_fault_) {
    return;
  }
  --faults_;
  next_fault_ = within(30);
  const std::size_t port = random_.between(0, hosts_[0]->ports.size() - 1), end = random_.between(0, 1);
  const std::uint64_t what = random_.between(0, 5);
  Port& hit = *hosts_[end]->ports[port];
  if (what <= 1) {
    verbs_.silence(*hit.context, within(300));
  } else if (what == 2 && port > 0) {
    killed_ = true;
    verbs_.kill(*hit.context);
    hit.dies_at = within(20);
  } else if (what == 3) {
    still_until_[end] = within(30);
  } else {
    (what == 4 ? sender_->gives_up : receiver_->gives_up) = port;
  }
}

// What is done may be used again at once, and nothing may touch it any more.
void PairsWorld::look() {
  using State = stripe::Completion::State;
  while (first_ < messages_.size() && messages_[first_].sent && messages_[first_].received) {
    ++first_;
  }
  for (std::size_t i = first_; i < receiver_->posted(); ++i) {
    Message& message = messages_[i];
    char* from = from_.data() + i * slot_;
    char* to = to_.data() + i * slot_;
    if (!message.sent && message.send.state.load() == State::done) {
      message.sent = true;
      std::memset(from, kUsedAgain, slot_);
    }
    if (!message.received && message.receive.state.load() == State::done) {
      message.received = true;
      if (message.receive.sizes[0] != message.size || std::string_view(to, message.size) != message.text) {
        broken(fmt::format("message {} of {} bytes has come wrong", i, message.size));
      }
      std::memset(to, kOver, slot_);
    }
  }
}

bool PairsWorld::may_write(std::uint64_t address, std::uint32_t length) const {
  const auto begin = reinterpret_cast<std::uint64_t>(to_.data());
  if (address + length <= begin || address >= begin + to_.size()) {
    return true;  // a pair's own memory
  }
  const std::size_t number = (address - begin) / slot_;
  return number < receiver_->posted() && !messages_[number].received;
}

bool PairsWorld::may_read(std::uint64_t address, std::uint32_t length) const {
  const auto begin = reinterpret_cast<std::uint64_t>(from_.data());
  return address + length <= begin || address >= begin + from_.size() ||
         !messages_[(address - begin) / slot_].sent;
}

Instant PairsWorld::next_time() const {
  Instant next = std::min(next_tick_, verbs_.next_event());
  for (std::size_t i = 0; i < 2; ++i) {
    if (still_until_[i] > MadeUpVerbs::now()) {
      continue;
    }
    next = mail_[i].empty() ? next : std::min(next, mail_[i].front().at);
    for (const auto& port : hosts_[i]->ports) {
      next = std::min(next, port->control->next());
    }
  }
  return std::max(next, MadeUpVerbs::now() + std::chrono::nanoseconds(100));
}

void PairsWorld::step() {
  verbs_.run_until(next_time());
  draw_fault();
  const bool tick = MadeUpVerbs::now() >= next_tick_;
  for (std::size_t i = 0; i < 2; ++i) {
    if (still_until_[i] > MadeUpVerbs::now()) {
      continue;
    }
    for (const auto& port : hosts_[i]->ports) {
      if (port->dies_at && *port->dies_at <= MadeUpVerbs::now()) {
        port->dies_at.reset();
        port->carrier->on_device_lost();
      }
      port->carrier->receive(MadeUpVerbs::now());
      if (tick) {
        port->carrier->on_time(MadeUpVerbs::now());
      }
    }
    while (!mail_[i].empty() && mail_[i].front().at <= MadeUpVerbs::now()) {
      const Mail next = std::move(mail_[i].front());
      mail_[i].pop_front();
      next.what();
    }
    i == 0 ? sender_->turn() : receiver_->turn();
  }
  next_tick_ = tick ? MadeUpVerbs::now() + kTick : next_tick_;
  look();
}

PairsWorld::Outcome PairsWorld::run() {
  constexpr Duration kEnough = std::chrono::seconds(8);
  const Instant begin = MadeUpVerbs::now();
  while (first_ < messages_.size() && outcome_.fault.empty() && !outcome_.lost_data) {
    step();
    if (const auto violations = verbs_.violations(); !violations.empty()) {
      broken(violations.front());
    }
    if (MadeUpVerbs::now() - begin > kEnough) {
      broken(fmt::format("it hangs: {}, {}", sender_->describe(), receiver_->describe()));
    }
  }
  outcome_.late_writes = verbs_.late_writes;
  outcome_.dealt_again = sender_->dealt_again();
  return outcome_;
}

}  // namespace tfabric::rdma::pairs::test
