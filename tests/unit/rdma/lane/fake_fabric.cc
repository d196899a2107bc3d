#include "fake_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tfabric::rdma::test {
namespace {

// Attempts before an unreachable peer is given up.
constexpr unsigned kRetries = 7;
constexpr std::uint32_t kVendorRetry = 0x81;
constexpr std::uint32_t kVendorAccess = 0x88;

template <class T>
void erase_owned(std::vector<std::unique_ptr<T>>& from, const void* object) {
  std::erase_if(from, [&](const auto& each) { return each.get() == object; });
}

bool refused(int& error) {
  if (error == 0) {
    return false;
  }
  errno = std::exchange(error, 0);
  return true;
}

}  // namespace

struct FakeFabric::Hca : ibv_context {
  FakeFabric* fabric = nullptr;
};

struct FakeFabric::FakeMr : ibv_mr {
  unsigned access = 0;
};

struct FakeFabric::Entry {
  ibv_wc wc{};
  FakeQp* qp = nullptr;
  std::uint32_t frees_sends = 0, frees_receives = 0;
};

struct FakeFabric::FakeCq : ibv_cq {
  std::deque<Entry> entries;
};

struct FakeFabric::Posted {
  ibv_send_wr wr{};
  ibv_sge sge{};
  std::vector<std::byte> copy;  // inline data
  std::uint32_t moved = 0;
};

struct FakeFabric::FakeQp : ibv_qp {
  ibv_qp_cap cap{};
  ibv_qp_attr attributes{};
  std::deque<Posted> sends;  // incomplete, in order
  std::size_t arrived = 0;   // of these
  std::deque<std::uint64_t> receives;
  std::uint32_t sends_taken = 0;  // used room in the send queue
  std::uint32_t receives_taken = 0;
  std::uint32_t unsignalled = 0;  // completed, but not reported yet
  unsigned retries = 0;
  struct Fault {
    ibv_wc_status status;
    std::uint32_t vendor_err;
    unsigned after;
  };
  std::optional<Fault> fault;

  [[nodiscard]] bool can_deliver() const { return state == IBV_QPS_RTS && arrived < sends.size(); }
  [[nodiscard]] bool can_acknowledge() const { return state == IBV_QPS_RTS && arrived > 0; }
  [[nodiscard]] bool takes_writes() const { return state == IBV_QPS_RTR || state == IBV_QPS_RTS; }
};

FakeFabric::FakeFabric(std::uint64_t seed) : random_(seed) {
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

FakeFabric::~FakeFabric() = default;

FakeFabric& FakeFabric::of(const ibv_context* context) { return *static_cast<const Hca*>(context)->fabric; }

ibv_context& FakeFabric::add_hca() {
  hcas_.push_back(std::make_unique<Hca>());
  Hca& hca = *hcas_.back();
  hca.fabric = this;
  hca.ops.poll_cq = poll_cq;
  hca.ops.post_send = post_send;
  hca.ops.post_recv = post_recv;
  return hca;
}

// --- objects

ibv_pd* FakeFabric::alloc_pd(ibv_context* context) {
  FakeFabric& fabric = of(context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.alloc_pd_error)) {
    return nullptr;
  }
  ++fabric.pds;
  return new ibv_pd{.context = context, .handle = 0};
}

int FakeFabric::dealloc_pd(ibv_pd* pd) {
  FakeFabric& fabric = of(pd->context);
  const std::lock_guard lock(fabric.mutex_);
  const auto uses = [&](const auto& object) { return object->pd == pd; };
  if (std::any_of(fabric.mrs_.begin(), fabric.mrs_.end(), uses) ||
      std::any_of(fabric.qps_.begin(), fabric.qps_.end(), uses)) {
    fabric.violated("a protection domain was deallocated while it was used");
  }
  --fabric.pds;
  delete pd;
  return 0;
}

ibv_mr* FakeFabric::reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                 unsigned access) {
  FakeFabric& fabric = of(pd->context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.reg_mr_error)) {
    return nullptr;
  }
  if (iova != reinterpret_cast<std::uint64_t>(address)) {
    fabric.violated("a region was registered at another address than its own");
  }
  auto mr = std::make_unique<FakeMr>();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->access = fabric.last_access = access;
  mr->lkey = fabric.next_key_++;
  mr->rkey = fabric.next_key_++;
  ++fabric.mrs;
  fabric.mrs_.push_back(std::move(mr));
  return fabric.mrs_.back().get();
}

ibv_mr* FakeFabric::reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return reg_mr_iova2(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                      static_cast<unsigned>(access));
}

ibv_mr* FakeFabric::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                  int /*fd*/, int access) {
  of(pd->context).dmabuf_offset = offset;
  return reg_mr_iova2(pd, reinterpret_cast<void*>(iova), length, iova, static_cast<unsigned>(access));
}

int FakeFabric::dereg_mr(ibv_mr* mr) {
  FakeFabric& fabric = of(mr->context);
  const std::lock_guard lock(fabric.mutex_);
  --fabric.mrs;
  erase_owned(fabric.mrs_, mr);
  return 0;
}

ibv_cq* FakeFabric::create_cq(ibv_context* context, int cqe, void*, ibv_comp_channel*, int) {
  FakeFabric& fabric = of(context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.create_cq_error)) {
    return nullptr;
  }
  auto* cq = new FakeCq;
  cq->context = context;
  cq->cqe = cqe;
  ++fabric.cqs;
  return cq;
}

int FakeFabric::destroy_cq(ibv_cq* cq) {
  FakeFabric& fabric = of(cq->context);
  const std::lock_guard lock(fabric.mutex_);
  if (std::any_of(fabric.qps_.begin(), fabric.qps_.end(),
                  [&](const auto& qp) { return qp->send_cq == cq || qp->recv_cq == cq; })) {
    fabric.violated("a completion queue was destroyed before its queue pairs");
  }
  --fabric.cqs;
  delete static_cast<FakeCq*>(cq);
  return 0;
}

ibv_qp* FakeFabric::create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  FakeFabric& fabric = of(pd->context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.create_qp_error)) {
    return nullptr;
  }
  auto qp = std::make_unique<FakeQp>();
  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = attributes->send_cq;
  qp->recv_cq = attributes->recv_cq;
  qp->qp_num = fabric.next_number_++;
  qp->state = IBV_QPS_RESET;
  qp->qp_type = attributes->qp_type;
  qp->cap = attributes->cap;
  // Like real providers, returns more than was requested, for which the completion queue may be too small.
  attributes->cap.max_send_wr *= 2;
  attributes->cap.max_inline_data = std::max(attributes->cap.max_inline_data, fabric.least_inline);
  qp->cap.max_inline_data = attributes->cap.max_inline_data;
  fabric.qps_.push_back(std::move(qp));
  return fabric.qps_.back().get();
}

int FakeFabric::modify_qp(ibv_qp* raw, ibv_qp_attr* attributes, int mask) {
  auto& qp = static_cast<FakeQp&>(*raw);
  FakeFabric& fabric = of(qp.context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.modify_qp_error)) {
    return errno;
  }
  const ibv_qp_state to = attributes->qp_state;
  if (to == IBV_QPS_ERR) {
    fabric.to_error(qp);
    return 0;
  }
  constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                       IBV_QP_MAX_QP_RD_ATOMIC;
  const bool lawful = (to == IBV_QPS_INIT && (qp.state == IBV_QPS_RESET || qp.state == IBV_QPS_INIT) &&
                       mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) ||
                      (to == IBV_QPS_RTR && qp.state == IBV_QPS_INIT && mask == kRtr) ||
                      (to == IBV_QPS_RTS && qp.state == IBV_QPS_RTR && mask == kRts);
  if (!lawful) {
    fabric.violated("a queue pair was modified against its states");
    return EINVAL;
  }
  if (to == IBV_QPS_RTR) {
    qp.attributes = *attributes;
  } else if (to == IBV_QPS_INIT) {
    qp.attributes.qp_access_flags = attributes->qp_access_flags;
  } else {
    qp.attributes.timeout = attributes->timeout;
    qp.attributes.retry_cnt = attributes->retry_cnt;
    qp.attributes.sq_psn = attributes->sq_psn;
  }
  qp.state = to;
  return 0;
}

int FakeFabric::destroy_qp(ibv_qp* qp) {
  FakeFabric& fabric = of(qp->context);
  const std::lock_guard lock(fabric.mutex_);
  for (ibv_cq* cq : {qp->send_cq, qp->recv_cq}) {
    std::erase_if(static_cast<FakeCq*>(cq)->entries, [&](const Entry& entry) { return entry.qp == qp; });
  }
  erase_owned(fabric.qps_, qp);
  return 0;
}

// --- posting and polling

int FakeFabric::post_send(ibv_qp* raw, ibv_send_wr* wr, ibv_send_wr** bad) {
  auto& qp = static_cast<FakeQp&>(*raw);
  FakeFabric& fabric = of(qp.context);
  const std::lock_guard lock(fabric.mutex_);
  ++fabric.doorbells;
  for (; wr != nullptr; wr = wr->next) {
    if (refused(fabric.post_send_error)) {
      *bad = wr;
      return errno;
    }
    if (const int error = fabric.post_one(qp, *wr); error != 0) {
      *bad = wr;
      return error;
    }
  }
  return 0;
}

int FakeFabric::post_one(FakeQp& qp, const ibv_send_wr& wr) {
  if (qp.state != IBV_QPS_RTS && qp.state != IBV_QPS_ERR) {
    violated("work was posted to a queue pair that is not ready to send");
    return EINVAL;
  }
  if (qp.sends_taken == qp.cap.max_send_wr) {
    violated("a send queue overflowed");
    return ENOMEM;
  }
  ++sends;
  ++qp.sends_taken;
  Posted posted;
  posted.wr = wr;
  if (wr.num_sge > 0) {
    posted.sge = wr.sg_list[0];
  }
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (posted.sge.length > qp.cap.max_inline_data) {
      violated("more was posted inline than the queue pair takes");
    }
    const auto* from = reinterpret_cast<const std::byte*>(posted.sge.addr);
    posted.copy.assign(from, from + posted.sge.length);
  }
  qp.sends.push_back(std::move(posted));
  if (qp.state == IBV_QPS_ERR) {
    complete(qp, IBV_WC_WR_FLUSH_ERR, 0);
  }
  return 0;
}

int FakeFabric::post_recv(ibv_qp* raw, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  auto& qp = static_cast<FakeQp&>(*raw);
  FakeFabric& fabric = of(qp.context);
  const std::lock_guard lock(fabric.mutex_);
  ++fabric.receive_doorbells;
  for (; wr != nullptr; wr = wr->next) {
    if (refused(fabric.post_recv_error)) {
      *bad = wr;
      return errno;
    }
    if (qp.receives_taken == qp.cap.max_recv_wr) {
      fabric.violated("a receive queue overflowed");
      *bad = wr;
      return ENOMEM;
    }
    ++qp.receives_taken;
    qp.receives.push_back(wr->wr_id);
  }
  return 0;
}

int FakeFabric::poll_cq(ibv_cq* raw, int room, ibv_wc* completions) {
  auto& cq = static_cast<FakeCq&>(*raw);
  FakeFabric& fabric = of(cq.context);
  const std::lock_guard lock(fabric.mutex_);
  if (refused(fabric.poll_cq_error)) {
    return -1;
  }
  int taken = 0;
  while (taken < room && !cq.entries.empty()) {
    const Entry& entry = cq.entries.front();
    entry.qp->sends_taken -= entry.frees_sends;
    entry.qp->receives_taken -= entry.frees_receives;
    completions[taken++] = entry.wc;
    cq.entries.pop_front();
  }
  return taken;
}

// --- the network

FakeFabric::FakeQp* FakeFabric::find(std::uint32_t qp_num) const {
  const auto found =
      std::find_if(qps_.begin(), qps_.end(), [&](const auto& qp) { return qp->qp_num == qp_num; });
  return found == qps_.end() ? nullptr : found->get();
}

const FakeFabric::FakeMr* FakeFabric::region(std::uint32_t key, const ibv_pd* pd, std::uint64_t address,
                                             std::uint32_t length, unsigned access) const {
  for (const auto& mr : mrs_) {
    const auto begin = reinterpret_cast<std::uint64_t>(mr->addr);
    const std::uint32_t of_it = (access & ~unsigned{IBV_ACCESS_LOCAL_WRITE}) != 0 ? mr->rkey : mr->lkey;
    if (of_it == key && mr->pd == pd && (mr->access & access) == access && address >= begin &&
        address + length <= begin + mr->length) {
      return mr.get();
    }
  }
  return nullptr;
}

bool FakeFabric::step() {
  const std::lock_guard lock(mutex_);
  std::vector<FakeQp*> busy;
  for (const auto& qp : qps_) {
    if (qp->can_deliver() || qp->can_acknowledge()) {
      busy.push_back(qp.get());
    }
  }
  if (busy.empty()) {
    return false;
  }
  FakeQp& qp = *busy[random_.between(std::uint64_t{0}, busy.size() - 1)];
  if (qp.can_deliver() && (!qp.can_acknowledge() || random_.chance(0.6))) {
    deliver(qp);
  } else {
    acknowledge(qp);
  }
  return true;
}

void FakeFabric::deliver(FakeQp& qp) {
  Posted& work = qp.sends[qp.arrived];
  if (qp.fault && work.moved == 0 && qp.fault->after-- == 0) {
    fail(qp, qp.fault->status, qp.fault->vendor_err);
    return;
  }
  FakeQp* peer = find(qp.attributes.dest_qp_num);
  // A half-transferred message may continue into a queue pair in the error state until it is destroyed:
  // hardware changes states later than modify_qp returns.
  const bool lingers = work.moved > 0 && work.moved < work.sge.length;
  if (peer == nullptr || !(peer->takes_writes() || lingers) || peer->attributes.dest_qp_num != qp.qp_num) {
    if (++qp.retries > kRetries) {
      fail(qp, IBV_WC_RETRY_EXC_ERR, kVendorRetry);
    }
    return;
  }
  const bool is_read = work.wr.opcode == IBV_WR_RDMA_READ;
  const std::uint32_t length = work.sge.length;
  if (length > 0 && work.copy.empty() &&
      region(work.sge.lkey, qp.pd, work.sge.addr, length, is_read ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0u) ==
          nullptr) {
    fail(qp, IBV_WC_LOC_PROT_ERR, kVendorAccess);
    return;
  }
  const unsigned needed = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  if (length > 0 &&
      region(work.wr.wr.rdma.rkey, peer->pd, work.wr.wr.rdma.remote_addr, length, needed) == nullptr) {
    fail(qp, IBV_WC_REM_ACCESS_ERR, kVendorAccess);
    if (peer != &qp) {
      to_error(*peer);
    }
    return;
  }
  move(qp, *peer, work);
}

void FakeFabric::move(FakeQp& qp, FakeQp& peer, Posted& work) {
  const std::uint32_t left = work.sge.length - work.moved;
  const bool with_imm = work.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (with_imm && peer.takes_writes() && peer.receives.empty()) {
    ++not_ready;
    return;
  }
  if (left > 0) {
    const auto piece = static_cast<std::uint32_t>(random_.between(std::uint64_t{1}, left));
    std::byte* ours = dma(work.sge.addr + work.moved);
    std::byte* theirs = dma(work.wr.wr.rdma.remote_addr + work.moved);
    if (work.wr.opcode == IBV_WR_RDMA_READ) {
      std::memcpy(ours, theirs, piece);
      ++reads;
    } else {
      if (may_write && !may_write(work.wr.wr.rdma.remote_addr + work.moved, piece)) {
        violated(fmt::format("{} bytes were written outside of posted receives", piece));
        return to_error(qp);
      }
      std::memcpy(theirs, work.copy.empty() ? ours : work.copy.data() + work.moved, piece);
    }
    work.moved += piece;
    if (piece < left) {
      return;
    }
  }
  if (!peer.takes_writes()) {
    return fail(qp, IBV_WC_RETRY_EXC_ERR, kVendorRetry);
  }
  ++qp.arrived;
  if (with_imm) {
    Entry entry{.wc = {}, .qp = &peer, .frees_sends = 0, .frees_receives = 1};
    entry.wc.wr_id = peer.receives.front();
    entry.wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    entry.wc.byte_len = work.sge.length;
    entry.wc.imm_data = work.wr.imm_data;
    entry.wc.qp_num = peer.qp_num;
    peer.receives.pop_front();
    ++receive_completions;
    enter(peer.recv_cq, entry);
  }
}

void FakeFabric::acknowledge(FakeQp& qp) {
  --qp.arrived;
  complete(qp, IBV_WC_SUCCESS, 0);
}

// Completes the oldest work request.
void FakeFabric::complete(FakeQp& qp, ibv_wc_status status, std::uint32_t vendor_err) {
  const Posted& work = qp.sends.front();
  ++qp.unsignalled;
  if (status != IBV_WC_SUCCESS || (work.wr.send_flags & IBV_SEND_SIGNALED) != 0) {
    Entry entry{.wc = {}, .qp = &qp, .frees_sends = std::exchange(qp.unsignalled, 0), .frees_receives = 0};
    entry.wc.wr_id = work.wr.wr_id;
    entry.wc.status = status;
    entry.wc.vendor_err = vendor_err;
    entry.wc.qp_num = qp.qp_num;
    ++send_completions;
    enter(qp.send_cq, entry);
  }
  qp.sends.pop_front();
}

void FakeFabric::fail(FakeQp& qp, ibv_wc_status status, std::uint32_t vendor_err) {
  while (qp.arrived > 0) {
    acknowledge(qp);
  }
  complete(qp, status, vendor_err);
  to_error(qp);
}

void FakeFabric::to_error(FakeQp& qp) {
  qp.state = IBV_QPS_ERR;
  qp.arrived = 0;
  while (!qp.sends.empty()) {
    complete(qp, IBV_WC_WR_FLUSH_ERR, 0);
  }
  while (!qp.receives.empty()) {
    Entry entry{.wc = {}, .qp = &qp, .frees_sends = 0, .frees_receives = 1};
    entry.wc.wr_id = qp.receives.front();
    entry.wc.status = IBV_WC_WR_FLUSH_ERR;
    entry.wc.qp_num = qp.qp_num;
    qp.receives.pop_front();
    enter(qp.recv_cq, entry);
  }
}

void FakeFabric::enter(ibv_cq* raw, const Entry& entry) {
  auto& cq = static_cast<FakeCq&>(*raw);
  if (cq.entries.size() == static_cast<std::size_t>(cq.cqe)) {
    violated("a completion queue overflowed");
    return;
  }
  cq.entries.push_back(entry);
}

// --- for the test

void FakeFabric::add_device_memory(const std::byte* address, std::byte* alias, std::size_t size) {
  device_memory_.push_back({reinterpret_cast<std::uint64_t>(address), size, alias});
}

std::byte* FakeFabric::dma(std::uint64_t address) const {
  for (const DeviceMemory& memory : device_memory_) {
    if (address - memory.begin < memory.size) {
      return memory.alias + (address - memory.begin);
    }
  }
  return reinterpret_cast<std::byte*>(address);
}

void FakeFabric::inject(std::uint32_t qp_num, ibv_wc_status status, std::uint32_t vendor_err,
                        unsigned after) {
  const std::lock_guard lock(mutex_);
  find(qp_num)->fault = FakeQp::Fault{.status = status, .vendor_err = vendor_err, .after = after};
}

std::vector<std::uint32_t> FakeFabric::queue_pairs() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> numbers;
  for (const auto& qp : qps_) {
    numbers.push_back(qp->qp_num);
  }
  return numbers;
}

ibv_qp_attr FakeFabric::attributes(std::uint32_t qp_num) const {
  const std::lock_guard lock(mutex_);
  return find(qp_num)->attributes;
}

ibv_qp_state FakeFabric::state(std::uint32_t qp_num) const {
  const std::lock_guard lock(mutex_);
  return find(qp_num)->state;
}

}  // namespace tfabric::rdma::test
