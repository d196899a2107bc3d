#include "tests/unit/rdma/pairs/made_up_verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/unit/rdma/pairs/made_up_objects.h"

namespace tfabric::rdma::test {

MadeUpVerbs::MadeUpVerbs(std::uint64_t seed) : random_(seed) {
  now_ = Instant(std::chrono::hours(1));
  verbs_.alloc_pd = alloc_pd;
  verbs_.dealloc_pd = dealloc_pd;
  verbs_.reg_mr = reg_mr;
  verbs_.reg_mr_iova2 = reg_mr_iova2;
  verbs_.reg_dmabuf_mr = reg_dmabuf_mr;
  verbs_.dereg_mr = dereg_mr;
  verbs_.create_cq = create_cq;
  verbs_.destroy_cq = destroy_cq;
  verbs_.create_qp = create_qp;
  verbs_.modify_qp = modify_qp;
  verbs_.destroy_qp = destroy_qp;
}

MadeUpVerbs::~MadeUpVerbs() = default;

MadeUpVerbs& MadeUpVerbs::of(const ibv_context* context) {
  return *static_cast<const Hca*>(context)->provider;
}

ibv_context& MadeUpVerbs::add_hca() {
  Hca& hca = *hcas_.emplace_back(std::make_unique<Hca>());
  hca.provider = this;
  hca.ops.poll_cq = poll_cq;
  hca.ops.post_send = post_send;
  hca.ops.post_recv = post_recv;
  return hca;
}

// --- the clock

void MadeUpVerbs::at(Instant when, std::function<void()> what) {
  events_.push({.at = when, .number = next_event_number_++, .what = std::move(what)});
}

void MadeUpVerbs::follow(Instant (*clock)()) {
  const std::lock_guard lock(mutex_);
  clock_ = clock;
  now_ = clock();
}

std::vector<ibv_qp_attr> MadeUpVerbs::connected() const {
  const std::lock_guard lock(mutex_);
  std::vector<ibv_qp_attr> all;
  for (const auto& [number, qp] : pairs_) {
    if (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS) {
      all.push_back(qp->attributes);
    }
  }
  return all;
}

Instant MadeUpVerbs::next_event() const { return events_.empty() ? kNever : events_.top().at; }

void MadeUpVerbs::run_until(Instant then) {
  while (!events_.empty() && events_.top().at <= then) {
    const Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.at);
    event.what();
  }
  now_ = std::max(now_, then);
}

// --- what goes wrong

void MadeUpVerbs::silence(ibv_context& hca, Instant until) {
  const std::lock_guard lock(mutex_);
  auto& silenced = static_cast<Hca&>(hca);
  silenced.silent_until = std::max(silenced.silent_until, until);
}

void MadeUpVerbs::set_gid_index(ibv_context& hca, std::optional<std::uint8_t> index) {
  const std::lock_guard lock(mutex_);
  static_cast<Hca&>(hca).has_gid = index.has_value();
  static_cast<Hca&>(hca).gid_index = index;
}

void MadeUpVerbs::kill(ibv_context& hca) {
  const std::lock_guard lock(mutex_);
  static_cast<Hca&>(hca).dead = true;
  for (const auto& cq : cqs_) {
    if (cq->context == &hca) {
      cq->entries.clear();
    }
  }
}

bool MadeUpVerbs::is_dead(const ibv_context& hca) const { return static_cast<const Hca&>(hca).dead; }

bool MadeUpVerbs::is_cut(const Hca& hca) { return hca.dead || !hca.has_gid || hca.silent_until > now_; }

// --- objects

ibv_pd* MadeUpVerbs::alloc_pd(ibv_context* context) {
  MadeUpVerbs& provider = of(context);
  const std::lock_guard lock(provider.mutex_);
  ++provider.pds;
  auto* pd = new ibv_pd{};
  pd->context = context;
  return pd;
}

int MadeUpVerbs::dealloc_pd(ibv_pd* pd) {
  MadeUpVerbs& provider = of(pd->context);
  const std::lock_guard lock(provider.mutex_);
  for (const auto& [number, qp] : provider.pairs_) {
    if (qp->pd == pd) {
      provider.violated("a protection domain was deallocated before its queue pairs");
    }
  }
  --provider.pds;
  delete pd;
  return 0;
}

ibv_mr* MadeUpVerbs::reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t /*iova*/,
                                  unsigned access) {
  MadeUpVerbs& provider = of(pd->context);
  const std::lock_guard lock(provider.mutex_);
  const bool meant = (provider.reg_mr_fails_at == nullptr || provider.reg_mr_fails_at == pd->context) &&
                     length >= provider.reg_mr_fails_from;
  if (provider.reg_mr_error != 0 && meant) {
    errno = provider.reg_mr_error;
    return nullptr;
  }
  auto mr = std::make_unique<Mr>();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->remote = (access & IBV_ACCESS_REMOTE_WRITE) != 0;
  mr->lkey = provider.next_key_++;
  mr->rkey = provider.next_key_++;
  provider.last_access = access;
  ++provider.mrs;
  return provider.mrs_.emplace_back(std::move(mr)).get();
}

ibv_mr* MadeUpVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return reg_mr_iova2(pd, address, length, 0, static_cast<unsigned>(access));
}

ibv_mr* MadeUpVerbs::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                   int /*fd*/, int access) {
  of(pd->context).dmabuf_offset = offset;
  return reg_mr(pd, reinterpret_cast<void*>(iova), length, access);
}

int MadeUpVerbs::dereg_mr(ibv_mr* mr) {
  MadeUpVerbs& provider = of(mr->context);
  const std::lock_guard lock(provider.mutex_);
  --provider.mrs;
  std::erase_if(provider.mrs_, [&](const auto& each) { return each.get() == mr; });
  return 0;
}

const MadeUpVerbs::Mr* MadeUpVerbs::region(std::uint32_t key, std::uint64_t address, std::uint64_t length,
                                           bool remote) const {
  for (const auto& mr : mrs_) {
    const auto begin = reinterpret_cast<std::uint64_t>(mr->addr);
    if ((remote ? mr->rkey : mr->lkey) == key && (!remote || mr->remote) && address >= begin &&
        address + length <= begin + mr->length) {
      return mr.get();
    }
  }
  return nullptr;
}

ibv_cq* MadeUpVerbs::create_cq(ibv_context* context, int cqe, void*, ibv_comp_channel*, int) {
  MadeUpVerbs& provider = of(context);
  const std::lock_guard lock(provider.mutex_);
  auto cq = std::make_unique<Cq>();
  cq->context = context;
  cq->cqe = cqe;
  ++provider.cqs;
  return provider.cqs_.emplace_back(std::move(cq)).get();
}

int MadeUpVerbs::destroy_cq(ibv_cq* cq) {
  MadeUpVerbs& provider = of(cq->context);
  const std::lock_guard lock(provider.mutex_);
  for (const auto& [number, qp] : provider.pairs_) {
    if (qp->send_cq == cq) {
      provider.violated("a completion queue was destroyed before its queue pairs");
    }
  }
  --provider.cqs;
  std::erase_if(provider.cqs_, [&](const auto& each) { return each.get() == cq; });
  return 0;
}

ibv_qp* MadeUpVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  MadeUpVerbs& provider = of(pd->context);
  const std::lock_guard lock(provider.mutex_);
  if (provider.is_dead(*pd->context)) {
    errno = EIO;
    return nullptr;
  }
  auto qp = std::make_unique<Qp>();
  qp->context = pd->context;
  qp->hca = static_cast<Hca*>(pd->context);
  qp->pd = pd;
  qp->send_cq = attributes->send_cq;
  qp->recv_cq = attributes->recv_cq;
  qp->qp_num = provider.next_number_++;
  qp->state = IBV_QPS_RESET;
  qp->cap = attributes->cap;
  const std::uint32_t number = qp->qp_num;
  return (provider.pairs_[number] = std::move(qp)).get();
}

int MadeUpVerbs::modify_qp(ibv_qp* raw, ibv_qp_attr* attributes, int /*mask*/) {
  auto& qp = static_cast<Qp&>(*raw);
  MadeUpVerbs& provider = of(qp.context);
  const std::lock_guard lock(provider.mutex_);
  if (qp.hca->dead) {
    return EIO;
  }
  const ibv_qp_state to = attributes->qp_state;
  if (to == IBV_QPS_ERR) {
    provider.to_error(qp);
    return 0;
  }
  const bool lawful = (to == IBV_QPS_INIT && qp.state == IBV_QPS_RESET) ||
                      (to == IBV_QPS_RTR && qp.state == IBV_QPS_INIT) ||
                      (to == IBV_QPS_RTS && qp.state == IBV_QPS_RTR);
  if (!lawful) {
    return EINVAL;  // as of one that has failed meanwhile
  }
  if (to == IBV_QPS_RTR) {
    const std::uint8_t asked = attributes->ah_attr.grh.sgid_index;
    if (attributes->ah_attr.is_global != 0 &&
        (!qp.hca->has_gid || qp.hca->gid_index.value_or(asked) != asked)) {
      return EINVAL;
    }
    qp.peer = attributes->dest_qp_num;
    qp.attributes = *attributes;
  }
  qp.state = to;
  return 0;
}

// Its completions stay where they are, as some providers' may.
int MadeUpVerbs::destroy_qp(ibv_qp* qp) {
  MadeUpVerbs& provider = of(qp->context);
  const std::lock_guard lock(provider.mutex_);
  provider.pairs_.erase(qp->qp_num);
  return 0;
}

int MadeUpVerbs::poll_cq(ibv_cq* raw, int room, ibv_wc* completions) {
  auto& cq = static_cast<Cq&>(*raw);
  MadeUpVerbs& provider = of(cq.context);
  const std::lock_guard lock(provider.mutex_);
  if (provider.clock_ != nullptr) {
    provider.run_until(provider.clock_());
  }
  int taken = 0;
  while (taken < room && !cq.entries.empty()) {
    const Cq::Entry& entry = cq.entries.front();
    if (Qp* qp = provider.find(entry.wc.qp_num); qp != nullptr) {
      qp->sends_taken -= entry.frees_sends;
      qp->receives_taken -= entry.frees_receives;
    } else {
      ++provider.stale_completions;
    }
    completions[taken++] = entry.wc;
    cq.entries.pop_front();
  }
  return taken;
}

int MadeUpVerbs::post_send(ibv_qp* raw, ibv_send_wr* wr, ibv_send_wr** bad) {
  auto& qp = static_cast<Qp&>(*raw);
  MadeUpVerbs& provider = of(qp.context);
  const std::lock_guard lock(provider.mutex_);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = provider.post_one(qp, *wr); error != 0) {
      *bad = wr;
      return error;
    }
  }
  provider.transmit(qp);
  return 0;
}

int MadeUpVerbs::post_recv(ibv_qp* raw, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  auto& qp = static_cast<Qp&>(*raw);
  MadeUpVerbs& provider = of(qp.context);
  const std::lock_guard lock(provider.mutex_);
  for (; wr != nullptr; wr = wr->next) {
    if (qp.receives_taken == qp.cap.max_recv_wr) {
      provider.violated("a receive queue overflowed");
      *bad = wr;
      return ENOMEM;
    }
    ++qp.receives_taken;
    qp.receives.push_back(wr->wr_id);
  }
  if (qp.state == IBV_QPS_ERR) {
    provider.to_error(qp);
  }
  return 0;
}

}  // namespace tfabric::rdma::test
