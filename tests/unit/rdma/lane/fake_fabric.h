// A provider for tests in libibverbs' place, with the network behind it: HCAs whose queue pairs really move
// bytes between registered regions of this process.
//
// It checks what hardware checks (states, keys, bounds, access, room in queues) and notes what no correct
// user does (violations). Nothing moves by itself: each step() does one small thing of one queue pair, drawn
// from the seed, so that work is delayed and reordered between queue pairs, never within one. A message
// arrives piece by piece, and its completion later. Completions can be made to fail.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma::test {

class FakeFabric {
 public:
  explicit FakeFabric(std::uint64_t seed);
  ~FakeFabric();
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;

  [[nodiscard]] const Verbs& verbs() const { return verbs_; }
  ibv::Context& add_hca();

  // False: there is nothing to do.
  bool step();
  void run() {
    while (step()) {
    }
  }

  // The work request after `after` more of this queue pair fails so.
  void inject(std::uint32_t qp_num, ibv::WcStatus status, std::uint32_t vendor_err, unsigned after = 0);
  [[nodiscard]] std::vector<std::uint32_t> queue_pairs() const;
  [[nodiscard]] ibv::QpAttr attributes(std::uint32_t qp_num) const;
  [[nodiscard]] ibv::QpState state(std::uint32_t qp_num) const;

  // Asked before each remote write; false is a violation.
  std::function<bool(std::uint64_t address, std::uint32_t length)> may_write;

  // Errors of the next calls: errno; 0: none.
  int alloc_pd_error = 0, reg_mr_error = 0, create_cq_error = 0, create_qp_error = 0, modify_qp_error = 0;
  int post_send_error = 0, post_recv_error = 0, poll_cq_error = 0;

  // What was done.
  std::vector<std::string> violations;
  std::size_t pds = 0, mrs = 0, cqs = 0;  // not destroyed yet
  std::size_t doorbells = 0, sends = 0, receive_doorbells = 0;
  std::size_t send_completions = 0, receive_completions = 0, reads = 0;
  std::size_t not_ready = 0;  // an immediate found no receive
  unsigned last_access = 0;   // of a registration
  std::uint64_t dmabuf_offset = 0;

 private:
  struct Hca;
  struct FakeMr;
  struct FakeCq;
  struct FakeQp;
  struct Posted;
  struct Entry;

  static FakeFabric& of(const ibv::Context* context);
  static ibv::Pd* alloc_pd(ibv::Context* context);
  static int dealloc_pd(ibv::Pd* pd);
  static ibv::Mr* reg_mr(ibv::Pd* pd, void* address, std::size_t length, int access);
  static ibv::Mr* reg_mr_iova2(ibv::Pd* pd, void* address, std::size_t length, std::uint64_t iova,
                               unsigned access);
  static ibv::Mr* reg_dmabuf_mr(ibv::Pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                int fd, int access);
  static int dereg_mr(ibv::Mr* mr);
  static ibv::Cq* create_cq(ibv::Context* context, int cqe, void*, ibv::CompChannel*, int);
  static int destroy_cq(ibv::Cq* cq);
  static ibv::Qp* create_qp(ibv::Pd* pd, ibv::QpInitAttr* attributes);
  static int modify_qp(ibv::Qp* qp, ibv::QpAttr* attributes, int mask);
  static int destroy_qp(ibv::Qp* qp);
  static int poll_cq(ibv::Cq* cq, int room, ibv::Wc* completions);
  static int post_send(ibv::Qp* qp, ibv::SendWr* wr, ibv::SendWr** bad);
  static int post_recv(ibv::Qp* qp, ibv::RecvWr* wr, ibv::RecvWr** bad);

  [[nodiscard]] FakeQp* find(std::uint32_t qp_num) const;
  [[nodiscard]] const FakeMr* region(std::uint32_t key, const ibv::Pd* pd, std::uint64_t address,
                                     std::uint32_t length, unsigned access) const;
  void violated(const std::string& what) { violations.push_back(what); }
  int post_one(FakeQp& qp, const ibv::SendWr& wr);
  void deliver(FakeQp& qp);
  void move(FakeQp& qp, FakeQp& peer, Posted& work);
  void acknowledge(FakeQp& qp);
  void complete(FakeQp& qp, ibv::WcStatus status, std::uint32_t vendor_err);
  void fail(FakeQp& qp, ibv::WcStatus status, std::uint32_t vendor_err);
  void to_error(FakeQp& qp);
  void enter(ibv::Cq* cq, const Entry& entry);

  mutable std::mutex mutex_;  // verbs may be called by any thread
  SeededRandom random_;
  Verbs verbs_;
  std::vector<std::unique_ptr<Hca>> hcas_;
  std::vector<std::unique_ptr<FakeMr>> mrs_;
  std::vector<std::unique_ptr<FakeQp>> qps_;
  std::uint32_t next_number_ = 0x11;
  std::uint32_t next_key_ = 0x1000;
};

}  // namespace tfabric::rdma::test
