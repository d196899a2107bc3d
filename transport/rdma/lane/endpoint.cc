#include "transport/rdma/lane/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "transport/rdma/lane/queue_pair.h"
#include "transport/rdma/lane/work_queues.h"
#include "transport/rdma/memory/registration.h"

namespace tfabric::rdma {
namespace {

// A message takes few work requests; those that do not fit wait in the comm.
constexpr std::uint32_t kSenderDepth = 256;
// For announcements and flushing reads.
constexpr std::uint32_t kSmallDepth = 64;

ibv_qp_cap cap_of(Role role, const ConnectionOptions& options) {
  return {.max_send_wr = role == Role::sender ? kSenderDepth : kSmallDepth,
          // Each outstanding receive may use one; used ones are posted again in batches.
          .max_recv_wr = role == Role::sender ? 1u : static_cast<std::uint32_t>(kReceives) + kReceiveBatch,
          .max_send_sge = 1,
          .max_recv_sge = 1,
          .max_inline_data = options.inline_bytes};
}

constexpr ibv_qp_cap kFlushCap{
    .max_send_wr = kSmallDepth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};

Error named(const Rail& rail, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", rail.name, error.message)};
}

Result<MemoryRegion> register_block(const Rail& rail, CommBlock& block) {
  constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ibv_mr* mr = rail.verbs->reg_mr(rail.pd, &block, sizeof(block), static_cast<int>(kAccess));
  if (mr == nullptr) {
    return registration_error(errno, sizeof(block));
  }
  return MemoryRegion(mr, {rail.verbs});
}

}  // namespace

Endpoint::Endpoint(Role role, std::vector<const Rail*> rails, const ConnectionOptions& options)
    : role_(role), rails_(std::move(rails)), options_(options), block_(std::make_unique<CommBlock>()) {}

Result<std::unique_ptr<Endpoint>> Endpoint::create(Role role, std::vector<const Rail*> rails,
                                                   const ConnectionOptions& options) {
  if (rails.empty() || rails.size() > kMaxRails || options.queue_pairs == 0 ||
      rails.size() * options.queue_pairs > kMaxQueuePairs) {
    return Error{Errc::invalid_usage,
                 fmt::format("a comm of {} rails with {} queue pairs each: 1 to {} rails, and 1 to {} queue "
                             "pairs together; lower rdma.qps",
                             rails.size(), options.queue_pairs, kMaxRails, kMaxQueuePairs)};
  }
  std::unique_ptr<Endpoint> endpoint(new Endpoint(role, std::move(rails), options));
  if (const Status opened = endpoint->open(); !opened) {
    return opened.error();
  }
  return endpoint;
}

Status Endpoint::open() {
  const bool flushes = role_ == Role::receiver && options_.flush;
  const ibv_qp_cap cap = cap_of(role_, options_);
  for (const Rail* rail : rails_) {
    auto mr = register_block(*rail, *block_);
    if (!mr) {
      return named(*rail, mr.error());
    }
    block_mrs_.push_back(std::move(*mr));
    // A failed work request has a completion even if it is not signalled, so count all of them.
    const std::uint32_t entries = (cap.max_send_wr + cap.max_recv_wr) * options_.queue_pairs +
                                  (flushes ? kFlushCap.max_send_wr + kFlushCap.max_recv_wr : 0u);
    auto cq = create_completion_queue(*rail->verbs, *rail->context, static_cast<int>(entries));
    if (!cq) {
      return named(*rail, cq.error());
    }
    cqs_.push_back(std::move(*cq));
  }
  // Neighbouring queue pairs are on different rails, so that using them in turn uses all rails.
  data_pairs_ = rails_.size() * options_.queue_pairs;
  for (std::size_t i = 0; i < data_pairs_; ++i) {
    if (Status added = add_pair(i % rails_.size(), cap); !added) {
      return added;
    }
  }
  for (std::size_t rail = 0; flushes && rail < rails_.size(); ++rail) {
    if (Status added = add_pair(rail, kFlushCap); !added) {
      return added;
    }
  }
  return {};
}

Status Endpoint::add_pair(std::size_t rail, const ibv_qp_cap& cap) {
  const Rail& on = *rails_[rail];
  Pair pair{.rail = rail, .number = 0, .psn = random_psn(), .cap = cap, .qp = {}};
  auto qp = create_queue_pair(*on.verbs, *on.pd, *cqs_[rail], pair.cap);
  if (!qp) {
    return named(on, qp.error());
  }
  pair.qp = std::move(*qp);
  pair.number = pair.qp->qp_num;
  // The completion queue has no room for work requests beyond those requested, and nothing may be inlined
  // that was not wished for.
  pair.cap.max_send_wr = std::min(pair.cap.max_send_wr, cap.max_send_wr);
  pair.cap.max_inline_data = std::min(pair.cap.max_inline_data, cap.max_inline_data);
  if (const int returned = to_init(on, *pair.qp, options_); returned != 0) {
    return Error{Errc::system, fmt::format("{}: a queue pair cannot be initialised: {}; check rdma.pkey = {}",
                                           on.name, verbs_fault(returned), options_.pkey_index)};
  }
  pairs_.push_back(std::move(pair));
  return {};
}

RailEnd Endpoint::end_of(std::size_t rail) const {
  const Rail& on = *rails_[rail];
  return {.gid = on.gid,
          .lid = on.lid,
          .grh_required = on.grh_required,
          .mtu = on.mtu,
          .block_rkey = block_mrs_[rail]->rkey};
}

CommEnd Endpoint::local() const {
  CommEnd end{.rails = {}, .queue_pairs = {}, .block = reinterpret_cast<std::uint64_t>(block_.get())};
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    end.rails.push_back(end_of(rail));
  }
  for (std::size_t i = 0; i < data_pairs_; ++i) {
    end.queue_pairs.push_back({.number = pairs_[i].number,
                               .psn = pairs_[i].psn,
                               .rail = static_cast<std::uint8_t>(pairs_[i].rail)});
  }
  return end;
}

void Endpoint::keep_queue_pairs(std::uint8_t on_each_rail) {
  options_.queue_pairs = std::min(options_.queue_pairs, on_each_rail);
  data_pairs_ = rails_.size() * options_.queue_pairs;
  pairs_.resize(data_pairs_);
}

Status Endpoint::meet(const CommEnd& remote, std::string peer) {
  remote_ = remote;
  peer_ = std::move(peer);
  bool fits = remote_.rails.size() == rails_.size() && remote_.queue_pairs.size() == data_pairs_;
  for (std::size_t i = 0; fits && i < data_pairs_; ++i) {
    fits = remote_.queue_pairs[i].rail == pairs_[i].rail;
  }
  if (!fits) {
    return Error{
        Errc::invalid_usage,
        fmt::format("{} has {} rails with {} queue pairs, this host {} with {}: both ends must agree on them",
                    peer_, remote_.rails.size(), remote_.queue_pairs.size(), rails_.size(), data_pairs_)};
  }
  return {};
}

Status Endpoint::connect() {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& pair = pairs_[i];
    const QueuePairEnd itself{.number = pair.number, .psn = pair.psn, .rail = 0};
    const Status status = i < data_pairs_ ? ready(i, remote_.queue_pairs[i], remote_.rails[pair.rail])
                                          : ready(i, itself, end_of(pair.rail));
    if (!status) {
      return Error{status.error().code, fmt::format("{}: {}", name_of(i), status.error().message)};
    }
  }
  connected_ = true;
  return {};
}

Status Endpoint::ready(std::size_t number, const QueuePairEnd& remote, const RailEnd& rail) const {
  const Pair& pair = pairs_[number];
  const Rail& on = *rails_[pair.rail];
  if (const int returned = to_ready_to_receive(on, *pair.qp, options_, remote, rail); returned != 0) {
    return Error{Errc::system,
                 fmt::format("cannot be made ready to receive: {}; is the peer's GID on a network that GID "
                             "{} of {} reaches (`tfabric info`, rdma.gid_index)?",
                             verbs_fault(returned), on.gid_index, on.name)};
  }
  if (const int returned = to_ready_to_send(on, *pair.qp, options_, pair.psn); returned != 0) {
    return Error{Errc::system,
                 fmt::format("cannot be made ready to send: {}; rdma.timeout = {}, rdma.retry_count = {}",
                             verbs_fault(returned), options_.timeout, options_.retry_count)};
  }
  return {};
}

void Endpoint::stop() {
  for (const Pair& pair : pairs_) {
    const Verbs& verbs = *rails_[pair.rail]->verbs;
    if (const int returned = pair.qp ? to_error(verbs, *pair.qp) : 0; returned != 0) {
      log_verbs_fault("a queue pair cannot be stopped", returned);
    }
  }
}

void Endpoint::destroy_queue_pairs() {
  stop();
  for (Pair& pair : pairs_) {
    pair.qp.reset();
  }
}

std::string Endpoint::name_of(std::size_t pair) const {
  const Pair& of = pairs_[pair];
  const Rail& rail = *rails_[of.rail];
  if (pair >= data_pairs_) {
    return fmt::format("queue pair {:#x} of {} ({}), which flushes,", of.number, rail.name,
                       to_string(rail.gid));
  }
  return fmt::format("queue pair {:#x} of {} ({}) to {:#x} of {} ({})", of.number, rail.name,
                     to_string(rail.gid), remote_.queue_pairs[pair].number, peer_,
                     to_string(remote_.rails[of.rail].gid));
}

}  // namespace tfabric::rdma
