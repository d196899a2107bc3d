#include "transport/rdma/pairs/pair.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "transport/rdma/pairs/queue_pair.h"

namespace tfabric::rdma::pairs {

Pair::Pair(const Options& options) : options_(options) {}

// --- its beginning

// One step of its beginning: a job, and once that is done, with the engine held, what it has brought.
void Pair::begin(State during, int (Pair::*job)(), State after, void (Pair::*done)()) {
  state_ = during;
  busy_ = true;
  options_.control->run([this, job] { return (this->*job)(); },
                        [this, after, done](int failed) TF_IN_TURN {
                          busy_ = false;
                          if (state_ == State::closing) {
                            go_on_closing();
                          } else if (failed != 0) {
                            fail(std::exchange(fault_, {}));
                          } else {
                            state_ = after;
                            (this->*done)();
                          }
                        });
}

void Pair::make() { begin(State::making, &Pair::make_now, State::made, &Pair::on_made); }

// Never with relaxed ordering: a notice must be there before its immediate.
MemoryRegion Pair::register_memory(void* memory, std::size_t size, bool remote) const {
  const Rail& rail = *options_.rail;
  const int access = remote ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
  return {rail.verbs->reg_mr(rail.pd, memory, size, access), {rail.verbs}};
}

int Pair::make_now() {
  const Rail& rail = *options_.rail;
  registration_ = register_memory(memory_.get(), sizeof(PairMemory), /*remote=*/true);
  if (registration_) {
    announcements_ =
        register_memory(options_.announcements.get(), sizeof(lane::AnnouncementBlock), options_.sends);
  }
  if (!announcements_) {
    fault_ = fmt::format("{}: {} bytes cannot be registered: {} (`ulimit -l`?)", rail.name,
                         sizeof(PairMemory) + sizeof(lane::AnnouncementBlock), verbs_fault(-1));
    return -1;
  }
  ibv_qp_cap cap{};
  cap.max_send_wr = sends_of(options_.sends);
  cap.max_recv_wr = receives_of(options_.sends);
  cap.max_send_sge = cap.max_recv_sge = 1;
  cap.max_inline_data = std::min<std::uint32_t>(options_.connection.inline_bytes, sizeof(Notice));
  ibv_qp_cap made = cap;
  Result<QueuePair> queue_pair = create_queue_pair(*rail.verbs, *rail.pd, *options_.cq, made);
  if (!queue_pair) {
    fault_ = fmt::format("{}: {}", rail.name, queue_pair.error().message);
    return -1;
  }
  queue_pair_ = std::move(*queue_pair);
  if (const int returned = to_init(rail, *queue_pair_, options_.connection); returned != 0) {
    fault_ = fmt::format("{}: a queue pair cannot be initialized: {}", rail.name, verbs_fault(returned));
    return -1;
  }
  // Providers grant more than was asked for, for which the completion queue has no room.
  cap_ = cap;
  cap_.max_inline_data = std::min(made.max_inline_data, cap.max_inline_data);
  return 0;
}

void Pair::on_made() {
  const Rail& rail = *options_.rail;
  send_.emplace(*queue_pair_, options_.id, cap_);
  here_ = {.queue_pair = {.number = queue_pair_->qp_num, .psn = random_psn()},
           .port = {.gid = rail.gid, .lid = rail.lid, .grh_required = rail.grh_required, .mtu = rail.mtu},
           .memory = reinterpret_cast<std::uint64_t>(memory_.get()),
           .key = registration_->rkey,
           .announcements = reinterpret_cast<std::uint64_t>(options_.announcements.get()),
           .announcements_key = announcements_->rkey,
           .traffic_class = options_.connection.traffic_class,
           .service_level = options_.connection.service_level};
  if (user_ != nullptr) {
    user_->on_made();
  }
}

void Pair::connect(const PairEnd& there) {
  assert(state_ == State::made);
  there_ = there;
  receives_out_ = receives_of(options_.sends);
  begin(State::connecting, &Pair::connect_now, State::ready, &Pair::on_ready);
}

// The receives are there before the peer may write.
int Pair::connect_now() {
  const Rail& rail = *options_.rail;
  int returned = 0;
  const std::uint32_t all = receives_of(options_.sends);
  refused_receives_ = all - post_receives(all, returned);
  returned = returned != 0 ? returned
                           : to_ready_to_receive(rail, *queue_pair_, options_.connection, there_.queue_pair,
                                                 there_.port);
  returned = returned != 0 ? returned
                           : to_ready_to_send(rail, *queue_pair_, options_.connection, here_.queue_pair.psn);
  if (returned != 0) {
    fault_ = fmt::format("{}: queue pair {:#x} cannot be connected: {}", rail.name, here_.queue_pair.number,
                         verbs_fault(returned));
  }
  return returned;
}

void Pair::on_ready() {
  if (user_ != nullptr) {
    user_->on_ready();
  }
}

std::uint32_t Pair::post_receives(std::uint32_t count, int& returned) {
  std::array<ibv_recv_wr, kReceiveBatch> chain{};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i] = {.wr_id = pack({.receive = true, .queue = options_.id, .number = 0}),
                .next = i + 1 < chain.size() ? &chain[i + 1] : nullptr,
                .sg_list = nullptr,
                .num_sge = 0};
  }
  std::uint32_t posted = 0;
  for (; posted < count; posted += kReceiveBatch) {
    ibv_recv_wr* bad = nullptr;
    returned = queue_pair_->context->ops.post_recv(queue_pair_.get(), chain.data(), &bad);
    if (returned != 0) {
      return posted + static_cast<std::uint32_t>(bad - chain.data());
    }
  }
  return posted;
}

// --- its end

void Pair::fail(std::string why, bool silent) {
  close();
  if (user_ != nullptr) {
    user_->on_failed(std::move(why), silent);
  }
}

void Pair::close() {
  if (state_ == State::closing || state_ == State::fenced) {
    return;
  }
  state_ = State::closing;
  options_.closing->push_back(options_.id);
  go_on_closing();
}

void Pair::on_device_lost() {
  device_lost_ = true;
  if (state_ == State::closing) {
    go_on_closing();
  } else if (state_ != State::fenced) {
    fail("its device has failed");
  }
}

bool Pair::has_come_back() const {
  return device_lost_ ||
         (receives_out_ == refused_receives_ && (!send_ || (last_posted_ && send_->drained())));
}

void Pair::go_on_closing() {
  if (state_ != State::closing || busy_) {
    return;
  }
  if (!queue_pair_) {
    destroy();
    return;
  }
  if (!in_error_) {
    busy_ = true;
    options_.control->run([this] { return to_error(*options_.rail->verbs, *queue_pair_); },
                          [this](int failed) TF_IN_TURN {
                            busy_ = false;
                            in_error_ = true;
                            device_lost_ = device_lost_ || failed != 0;
                            go_on_closing();
                          });
    return;
  }
  post_last();
  if (has_come_back()) {
    destroy();
  }
}

// Work that was done without a signal gives no completion, so that their number does not tell when all is
// done. What is posted to a queue pair in the error state comes back flushed, behind all before it.
void Pair::post_last() {
  if (!send_ || last_posted_ || device_lost_) {
    return;
  }
  static_cast<void>(send_->post());  // what was staged, which may fill the chain
  if (send_->room() > 0) {
    last_posted_ = true;
    send_->stage({.remote = there_.memory, .rkey = there_.key});
    send_->signal();
    static_cast<void>(send_->post());  // what is refused is not waited for
  }
}

// A queue pair that cannot be destroyed keeps the lane that it carried from being settled: the comm's bound
// ends that, and the log names the adapter.
void Pair::destroy() {
  busy_ = true;  // for good, if it fails
  options_.control->run(
      [this] {
        const Verbs& verbs = *options_.rail->verbs;
        const int returned = queue_pair_ ? verbs.destroy_qp(queue_pair_.get()) : 0;
        if (returned != 0) {
          log_verbs_fault(fmt::format("a queue pair of {} cannot be destroyed", options_.rail->name).c_str(),
                          returned);
          return returned;
        }
        static_cast<void>(queue_pair_.release());
        registration_.reset();
        announcements_.reset();
        return 0;
      },
      [this](int failed) TF_IN_TURN {
        if (failed == 0) {
          state_ = State::fenced;
          if (user_ != nullptr) {
            user_->on_fenced();
          }
        }
      });
}

}  // namespace tfabric::rdma::pairs
