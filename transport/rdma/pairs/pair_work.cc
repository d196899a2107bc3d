// What is sent over a pair, and what has come.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/rdma/pairs/pair.h"
#include "transport/rdma/pairs/queue_pair.h"

namespace tfabric::rdma::pairs {
namespace {

// After so many bytes a write is signalled even in the middle of a chain: completions show that it gets on.
constexpr std::uint32_t kSignalBytes = 64u << 10;
// Of a pair's patience: at least, and while little has been measured.
constexpr Duration kLeastPatience = std::chrono::milliseconds(15),
                   kFirstPatience = std::chrono::milliseconds(50);

}  // namespace

// The low bytes of the peer's write may become visible before the high ones; the torn value is below the
// previous one, so the maximum is kept.
std::uint64_t Pair::credited() const {
  auto& word = options_.sends ? memory_->taken_forth : memory_->taken_back;
  credited_ = std::max(credited_, std::min(read_once(word), given_));
  return credited_;
}

std::uint8_t Pair::next_slot() const { return static_cast<std::uint8_t>(given_ % limit()); }

Notice& Pair::next_notice() {
  Notice& notice = options_.sends ? memory_->forth[next_slot()] : memory_->back[next_slot()];
  notice = {};
  notice.number = static_cast<std::uint32_t>(given_ + 1);
  return notice;
}

void Pair::stage(const Work& work) {
  if (state_ == State::ready && send_->room() == 0) [[unlikely]] {
    post_chain();  // whatever the brake says
  }
  if (state_ != State::ready) {
    return;
  }
  send_->stage(work);
  ++work_;
  ++staged_;
  unsignalled_bytes_ += work.length;
  options_.brake->take(work.length);
  if (unsignalled_bytes_ >= kSignalBytes) {
    signal();
  }
}

void Pair::signal() {
  send_->signal();
  signalled_ = work_;
  unsignalled_bytes_ = 0;
}

void Pair::stage_notice() {
  const auto* notice = options_.sends ? &memory_->forth[next_slot()] : &memory_->back[next_slot()];
  const auto at = reinterpret_cast<std::uint64_t>(notice);
  stage({.local = at,
         .length = sizeof(Notice),
         .lkey = registration_->lkey,
         .remote = there_.memory + (at - here_.memory),
         .rkey = there_.key,
         .control = true});
}

void Pair::stage_announcement(std::uint32_t number) {
  const std::uint64_t offset = lane::slot_of(number) * sizeof(lane::Announcement);
  stage({.local = here_.announcements + offset,
         .length = sizeof(lane::Announcement),
         .lkey = announcements_->lkey,
         .remote = there_.announcements + offset,
         .rkey = there_.announcements_key,
         .control = true});
}

std::uint64_t Pair::stage_end(const Immediate& immediate) {
  Work empty;
  return stage_end(empty, immediate);
}

std::uint64_t Pair::stage_end(Work& work, const Immediate& immediate) {
  work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  work.imm = encode(immediate);
  if (work.length == 0) {  // an address all the same, which some adapters look at
    work.remote = there_.memory;
    work.rkey = there_.key;
  }
  stage(work);
  ++given_;
  marks_.push_back({.work = work_, .position = given_});
  return given_;
}

void Pair::post() {
  if (state_ != State::ready || staged_ == 0) {
    return;
  }
  if (!is_awaited()) {
    progressed_at_ = std::max(progressed_at_, options_.connection.now());
  }
  held_ = options_.brake->holds();
  if (!held_) {
    post_chain();
  }
}

void Pair::post_chain() {
  staged_ = 0;
  // Work without an immediate is signalled only if no signalled work is outstanding: some completion must
  // show whether the peer answers.
  const bool waited_for = !marks_.empty() && static_cast<std::int32_t>(marks_.back().work - signalled_) > 0;
  if (waited_for || !send_->awaited()) {
    signal();
  }
  if (const int returned = send_->post(); returned != 0) {
    fail_post("work", returned);
  }
}

void Pair::fail_post(const char* what, int returned) {
  fail(fmt::format("{} cannot be posted: {}", what, verbs_fault(returned)));
}

void Pair::probe() {
  if (state_ == State::ready && send_->free() > 0 && !is_awaited()) {
    stage({.remote = there_.memory, .rkey = there_.key});
    post();
  }
}

void Pair::on_released() {
  give_credit();  // there may have been no room for it
  post();
  if (user_ != nullptr) {
    user_->on_room();
  }
}

// --- what has come

std::uint64_t& Pair::own_credit() { return options_.sends ? memory_->taken_back : memory_->taken_forth; }
std::uint64_t Pair::own_credit_offset() const {
  return options_.sends ? offsetof(PairMemory, taken_back) : offsetof(PairMemory, taken_forth);
}

void Pair::give_credit() {
  if (state_ != State::ready || taken_ == credit_given_ || room() == 0) {
    return;
  }
  own_credit() = credit_given_ = taken_;
  stage({.local = here_.memory + own_credit_offset(),
         .length = sizeof(std::uint64_t),
         .lkey = registration_->lkey,
         .remote = there_.memory + own_credit_offset(),
         .rkey = there_.key,
         .control = true});
}

std::optional<Notice> Pair::notice(std::uint8_t slot) const {
  const std::size_t slots = options_.sends ? kBackWindow : kWindow;
  if (slot >= slots) {
    return std::nullopt;
  }
  Notice& there = options_.sends ? memory_->back[slot] : memory_->forth[slot];
  if (read_once(there.number) != static_cast<std::uint32_t>(taken_)) {
    return std::nullopt;
  }
  return there;
}

Duration Pair::patience() const {
  return std::max(is_measured() ? kLeastPatience : kFirstPatience, gap_ + 4 * gap_variation_);
}

inline void Pair::measure(Duration gap) {
  if (gaps_ == 0) {
    gap_ = gap;
    gap_variation_ = gap / 2;
  } else {
    gap_variation_ += (std::chrono::abs(gap - gap_) - gap_variation_) / 4;
    gap_ += (gap - gap_) / 8;
  }
  gaps_ = std::min(gaps_ + 1, kFewGaps);
}

inline void Pair::take_receive(const ibv_wc& completion) {
  --receives_out_;
  if (completion.status != IBV_WC_SUCCESS) {
    if (state_ == State::ready || state_ == State::connecting) {
      fail("the queue pair has failed");
    }
    return;
  }
  ++taken_;
  ++used_;
  if (user_ != nullptr) {
    user_->on_immediate(ntohl(completion.imm_data), completion.byte_len);
  }
  if (used_ >= kReceiveBatch && state_ == State::ready) {
    used_ -= kReceiveBatch;
    int returned = 0;
    receives_out_ += post_receives(kReceiveBatch, returned);
    if (returned != 0) {
      fail_post("a receive", returned);
      return;
    }
    give_credit();
    post();
  }
}

void Pair::fail_send(const ibv_wc& completion) {
  if (state_ == State::ready) {
    fail(completion_fault(
             completion, fmt::format("queue pair {:#x} of {}", here_.queue_pair.number, options_.rail->name)),
         completion.status == IBV_WC_RETRY_EXC_ERR);
  }
}

inline void Pair::take_send(const ibv_wc& completion, std::uint32_t number) {
  send_->complete(number);
  if (completion.status != IBV_WC_SUCCESS) {
    fail_send(completion);
    return;
  }
  const std::uint64_t confirmed = confirmed_;
  while (!marks_.empty() && static_cast<std::int32_t>(number - marks_.front().work) >= 0) {
    confirmed_ = marks_.front().position;
    marks_.pop_front();
  }
  if (user_ == nullptr) {
    return;
  }
  if (confirmed_ != confirmed) {
    user_->on_news();
  } else {
    user_->on_room();
  }
}

void Pair::on_completion(const ibv_wc& completion, Instant now) {
  const WorkId id = unpack_work_id(completion.wr_id);
  const bool well = completion.status == IBV_WC_SUCCESS;
  if (well) {
    const Duration gap = now - progressed_at_;
    if (send_ && send_->awaited()) {
      awaited_for_ += std::max(gap, Duration::zero());
    }
    if (!id.receive) {
      measure(gap);
    }
  }
  if (id.receive) {
    take_receive(completion);
  } else {
    take_send(completion, id.number);
  }
  if (well) {
    progressed_at_ = now;
  }
}

}  // namespace tfabric::rdma::pairs
