// A fake of libibverbs for tests, with the network behind it: HCAs whose queue pairs really move bytes
// between registered regions of this process.
//
// It checks what hardware checks (states, keys, bounds, access, room in queues) and notes incorrect use in
// violations. Nothing moves by itself: each step() does one small thing on one queue pair, drawn from the
// seed, so work is delayed and reordered between queue pairs, but never within one. A message arrives piece
// by piece, and its completion later. Completions can be made to fail.
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
  ibv_context& add_hca();

  // Returns false if there is nothing to do.
  bool step();
  void run() {
    while (step()) {
    }
  }

  // Makes a work request of this queue pair fail, after `after` others.
  void inject(std::uint32_t qp_num, ibv_wc_status status, std::uint32_t vendor_err, unsigned after = 0);
  [[nodiscard]] std::vector<std::uint32_t> queue_pairs() const;
  [[nodiscard]] ibv_qp_attr attributes(std::uint32_t qp_num) const;
  [[nodiscard]] ibv_qp_state state(std::uint32_t qp_num) const;

  // Memory that an HCA reaches by DMA where the CPU does not: bytes at `address` lie at `alias` for the
  // fabric.
  void add_device_memory(const std::byte* address, std::byte* alias, std::size_t size);

  // Called before each remote write. Returning false is a violation.
  std::function<bool(std::uint64_t address, std::uint32_t length)> may_write;

  // What a queue pair takes inline at least, whatever is asked for. mlx5 grants 60 bytes for 0.
  std::uint32_t least_inline = 60;

  // errno of the next call; 0 for success.
  int alloc_pd_error = 0, reg_mr_error = 0, create_cq_error = 0, create_qp_error = 0, modify_qp_error = 0;
  int post_send_error = 0, post_recv_error = 0, poll_cq_error = 0;

  // What was done.
  std::vector<std::string> violations;
  std::size_t pds = 0, mrs = 0, cqs = 0;  // not destroyed yet
  std::size_t doorbells = 0, sends = 0, receive_doorbells = 0;
  std::size_t send_completions = 0, receive_completions = 0, reads = 0;
  std::size_t not_ready = 0;  // immediates that found no receive
  unsigned last_access = 0;   // access flags of the last registration
  std::uint64_t dmabuf_offset = 0;

 private:
  struct Hca;
  struct FakeMr;
  struct FakeCq;
  struct FakeQp;
  struct Posted;
  struct Entry;

  static FakeFabric& of(const ibv_context* context);
  static ibv_pd* alloc_pd(ibv_context* context);
  static int dealloc_pd(ibv_pd* pd);
  static ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, int access);
  static ibv_mr* reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                              unsigned access);
  static ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                               int fd, int access);
  static int dereg_mr(ibv_mr* mr);
  static ibv_cq* create_cq(ibv_context* context, int cqe, void*, ibv_comp_channel*, int);
  static int destroy_cq(ibv_cq* cq);
  static ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
  static int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
  static int destroy_qp(ibv_qp* qp);
  static int poll_cq(ibv_cq* cq, int room, ibv_wc* completions);
  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
  static int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

  [[nodiscard]] FakeQp* find(std::uint32_t qp_num) const;
  [[nodiscard]] const FakeMr* region(std::uint32_t key, const ibv_pd* pd, std::uint64_t address,
                                     std::uint32_t length, unsigned access) const;
  // Returns where the fabric finds the byte at this address.
  [[nodiscard]] std::byte* dma(std::uint64_t address) const;
  void violated(const std::string& what) { violations.push_back(what); }
  int post_one(FakeQp& qp, const ibv_send_wr& wr);
  void deliver(FakeQp& qp);
  void move(FakeQp& qp, FakeQp& peer, Posted& work);
  void acknowledge(FakeQp& qp);
  void complete(FakeQp& qp, ibv_wc_status status, std::uint32_t vendor_err);
  void fail(FakeQp& qp, ibv_wc_status status, std::uint32_t vendor_err);
  void to_error(FakeQp& qp);
  void enter(ibv_cq* cq, const Entry& entry);

  mutable std::mutex mutex_;  // verbs may be called by any thread
  SeededRandom random_;
  Verbs verbs_;
  std::vector<std::unique_ptr<Hca>> hcas_;
  std::vector<std::unique_ptr<FakeMr>> mrs_;
  std::vector<std::unique_ptr<FakeQp>> qps_;
  struct DeviceMemory {
    std::uint64_t begin, size;
    std::byte* alias;
  };
  std::vector<DeviceMemory> device_memory_;
  std::uint32_t next_number_ = 0x11;
  std::uint32_t next_key_ = 0x1000;
};

}  // namespace tfabric::rdma::test
