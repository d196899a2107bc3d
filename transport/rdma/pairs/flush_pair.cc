#include "transport/rdma/pairs/flush_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "transport/rdma/pairs/queue_pair.h"

namespace tfabric::rdma::pairs {

void FlushPair::make() {
  making_ = true;
  options_.control->run([this] { return make_now(); },
                        [this](int failed) TF_IN_TURN {
                          making_ = false;
                          if (failed != 0) {
                            fail(fault_);
                          } else {
                            send_.emplace(*queue_pair_, options_.id, cap_);
                            post();
                          }
                        });
}

int FlushPair::make_now() {
  const Rail& rail = *options_.rail;
  registration_ = {rail.verbs->reg_mr(rail.pd, pad_->data(), pad_->size(), IBV_ACCESS_LOCAL_WRITE),
                   {rail.verbs}};
  cap_ = {
      .max_send_wr = kWorks, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  ibv_qp_cap made = cap_;
  Result<QueuePair> queue_pair = create_queue_pair(*rail.verbs, *rail.pd, *options_.cq, made);
  if (!registration_ || !queue_pair) {
    fault_ = queue_pair ? verbs_fault(-1) : queue_pair.error().message;
    return -1;
  }
  queue_pair_ = std::move(*queue_pair);
  const QueuePairEnd self{.number = queue_pair_->qp_num, .psn = random_psn()};
  const RailEnd port{.gid = rail.gid, .lid = rail.lid, .grh_required = rail.grh_required, .mtu = rail.mtu};
  int returned = to_init(rail, *queue_pair_, *options_.connection);
  returned =
      returned != 0 ? returned : to_ready_to_receive(rail, *queue_pair_, *options_.connection, self, port);
  returned = returned != 0 ? returned : to_ready_to_send(rail, *queue_pair_, *options_.connection, self.psn);
  if (returned != 0) {
    fault_ =
        fmt::format("queue pair {:#x} cannot be connected to itself: {}", self.number, verbs_fault(returned));
  }
  return returned;
}

void FlushPair::flush(std::span<const lane::FlushPlace> places, lane::FlushUser& user, std::uint64_t number) {
  if (failed_ || places.empty()) {
    done_.push_back({&user, number, !failed_});
    return;
  }
  Flush& flush = waiting_.emplace_back(Flush{.user = &user, .number = number, .places = {}});
  flush.count = places.size();
  std::copy(places.begin(), places.end(), flush.places.begin());
  post();
}

void FlushPair::post() {
  while (send_ && !waiting_.empty() && send_->free() >= waiting_.front().count) {
    Flush& flush = waiting_.front();
    for (const lane::FlushPlace& place : std::span(flush.places).first(flush.count)) {
      send_->stage({.opcode = IBV_WR_RDMA_READ,
                    .local = reinterpret_cast<std::uint64_t>(pad_->data()),
                    .length = 1,
                    .lkey = registration_->lkey,
                    .remote = place.address,
                    .rkey = place.key});
      ++work_;
    }
    send_->signal();
    flush.last_work = work_;
    if (const int returned = send_->post(); returned != 0) {
      fail(fmt::format("reads cannot be posted: {}", verbs_fault(returned)));
      return;
    }
    posted_.push_back(flush);
    waiting_.pop_front();
  }
}

void FlushPair::on_completion(const ibv_wc& completion) {
  const std::uint32_t number = unpack_work_id(completion.wr_id).number;
  send_->complete(number);
  if (completion.status != IBV_WC_SUCCESS) {
    fail(completion_fault(completion,
                          fmt::format("queue pair {:#x} of {}", queue_pair_->qp_num, options_.rail->name)));
    return;
  }
  while (!posted_.empty() && static_cast<std::int32_t>(number - posted_.front().last_work) >= 0) {
    done_.push_back({posted_.front().user, posted_.front().number, /*well=*/true});
    posted_.pop_front();
  }
  post();
}

void FlushPair::fail(const std::string& why) {
  if (!std::exchange(failed_, true)) {
    TF_WARN("NET/tfabric: rail {}: what has come cannot be made visible to GPUs any more (iflush): {}",
            options_.rail->name, why);
  }
  for (std::deque<Flush>* flushes : {&posted_, &waiting_}) {
    for (const Flush& flush : *flushes) {
      done_.push_back({flush.user, flush.number, /*well=*/false});
    }
    flushes->clear();
  }
}

void FlushPair::forget(const lane::FlushUser& user) {
  const auto forget_in = [&](auto& flushes) {
    for (auto& flush : flushes) {
      flush.user = flush.user == &user ? nullptr : flush.user;
    }
  };
  std::erase_if(waiting_, [&](const Flush& flush) { return flush.user == &user; });
  forget_in(posted_);
  forget_in(done_);
}

// A user may ask for another one, or end, when it is told.
void FlushPair::on_turn() {
  for (std::size_t left = done_.size(); left > 0 && !done_.empty(); --left) {
    const Done done = done_.front();
    done_.pop_front();
    if (done.user != nullptr) {
      done.user->on_flushed(done.number, done.well);
    }
  }
}

}  // namespace tfabric::rdma::pairs
