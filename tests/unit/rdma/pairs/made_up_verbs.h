// A made-up provider of queue pairs in virtual time: libibverbs' functions, adapters, and the network between
// them, for tests of what becomes of queue pairs whose network, port or device fails.
//
// A write arrives in two parts and its immediate after them; acknowledgements and completions take time, too;
// what the network loses is sent again after a time-out, in order, as a reliable connection does. Three
// things are as bad here as hardware may be: a queue pair in the error state still takes what is on its way
// until it is destroyed; what was sent arrives although its sender has been destroyed; and completions of a
// queue pair that was destroyed may still be in their completion queue. Nothing happens by itself:
// run_until() moves the clock, or, after follow(), each look for completions does. All of it follows from the
// seed, and from when the threads do what.
//
// One at a time in a process. Its verbs are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma::test {

class MadeUpVerbs {
 public:
  explicit MadeUpVerbs(std::uint64_t seed);
  ~MadeUpVerbs();
  MadeUpVerbs(const MadeUpVerbs&) = delete;
  MadeUpVerbs& operator=(const MadeUpVerbs&) = delete;

  [[nodiscard]] const Verbs& verbs() const { return verbs_; }
  [[nodiscard]] static Instant now() { return now_; }
  // An adapter with one port, which reaches all others.
  ibv_context& add_hca();

  // Does all that is due until then.
  void run_until(Instant then);
  // The time is the clock's from now on.
  void follow(Instant (*clock)());
  // When something is due next; kNever: nothing.
  [[nodiscard]] Instant next_event() const;

  // --- what goes wrong
  // Nothing passes this adapter's port until then.
  void silence(ibv_context& hca, Instant until);
  // The port's GID is at this index from now on, and queue pairs that ask for another one cannot be
  // connected. Nothing: it has none, and nothing passes.
  void set_gid_index(ibv_context& hca, std::optional<std::uint8_t> index);
  // The device is dead: it neither sends nor takes anything, completes nothing, not even what has come and
  // was not polled, and refuses to modify queue pairs. What it has acknowledged it may have lost.
  void kill(ibv_context& hca);
  [[nodiscard]] bool is_dead(const ibv_context& hca) const;

  // Before each write to remote memory: returns false if nothing may be written there now.
  std::function<bool(std::uint64_t address, std::uint32_t length)> may_write;
  // The same of memory that is sent, each time that it is.
  std::function<bool(std::uint64_t address, std::uint32_t length)> may_read;
  // Where the adapter reaches an address; by default, where the CPU does.
  std::function<std::byte*(std::uint64_t address)> reach = [](std::uint64_t address) {
    return reinterpret_cast<std::byte*>(address);
  };
  // What is written as a count of 8 bytes arrives as the largest one.
  bool lies_about_credit = false;

  // How long things take at most; each is drawn for each.
  Duration delay = std::chrono::microseconds(20);       // one way
  Duration completion = std::chrono::microseconds(10);  // from an event to the completion that tells of it
  Duration timeout = std::chrono::milliseconds(8);      // of the transport, after which it sends again
  int retries = 6;
  // Now and then the network holds something up, and what is behind it.
  double holds_up = 0;
  Duration longest_hold = std::chrono::milliseconds(5);
  double bytes_per_ns = 2;

  // What was done wrong: by those who use it, or to memory.
  [[nodiscard]] std::vector<std::string> violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  std::uint64_t late_writes = 0;  // into queue pairs in the error state, or from destroyed ones
  std::uint64_t stale_completions = 0;
  std::atomic<std::uint64_t> reads = 0, immediates = 0;  // that have come
  std::size_t queue_pairs() const { return pairs_.size(); }
  std::size_t mrs = 0, cqs = 0, pds = 0;  // not destroyed yet
  // The attributes of the queue pairs that are connected.
  [[nodiscard]] std::vector<ibv_qp_attr> connected() const;
  // Errors of registrations of so many bytes or more, with this adapter or any; 0: none.
  int reg_mr_error = 0;
  std::size_t reg_mr_fails_from = 0;
  const ibv_context* reg_mr_fails_at = nullptr;
  unsigned last_access = 0;         // of a registration
  std::uint64_t dmabuf_offset = 0;  // of the last one

 private:
  struct Hca;
  struct Mr;
  struct Cq;
  struct Qp;
  struct Posted;
  struct Packet;
  struct Event {
    Instant at;
    std::uint64_t number = 0;
    std::function<void()> what;
    // The latest first, as std::priority_queue has the largest at its top.
    friend bool operator<(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  static MadeUpVerbs& of(const ibv_context* context);
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

  void at(Instant when, std::function<void()> what);
  [[nodiscard]] Duration draw(Duration most) {
    return random_.between(std::chrono::nanoseconds(most.count() / 4), most);
  }
  [[nodiscard]] Qp* find(std::uint32_t number) const;
  [[nodiscard]] const Mr* region(std::uint32_t key, std::uint64_t address, std::uint64_t length,
                                 bool remote) const;
  [[nodiscard]] static bool is_cut(const Hca& hca);
  void violated(std::string what) { violations_.push_back(std::move(what)); }
  int post_one(Qp& qp, const ibv_send_wr& wr);
  void transmit(Qp& qp);
  void send_one(Qp& qp);
  void watch(Qp& qp);
  void on_timeout(std::uint32_t number, std::uint64_t progress);
  bool arrives(const Packet& packet);
  void write(const Packet& packet, std::size_t from, std::size_t until, const Qp* to);
  void arrive_first_part(const std::shared_ptr<Packet>& packet);
  void arrive(const std::shared_ptr<Packet>& packet);
  void acknowledge(std::uint32_t number, std::uint64_t until);
  void complete_front(Qp& qp, ibv_wc_status status);
  void fail(Qp& qp, ibv_wc_status status);
  void to_error(Qp& qp);
  void enter(Qp& qp, bool receive, ibv_wc wc);

  static inline Instant now_{};
  Instant (*clock_)() = nullptr;
  mutable std::recursive_mutex mutex_;  // guards all of it, once there are several threads
  std::vector<std::string> violations_;
  SeededRandom random_;
  Verbs verbs_;
  std::vector<std::unique_ptr<Hca>> hcas_;
  std::vector<std::unique_ptr<Mr>> mrs_;
  std::vector<std::unique_ptr<Cq>> cqs_;
  std::map<std::uint32_t, std::unique_ptr<Qp>> pairs_;
  std::priority_queue<Event> events_;
  std::uint64_t next_event_number_ = 0;
  std::uint32_t next_number_ = 0x11, next_key_ = 0x1000;
};

}  // namespace tfabric::rdma::test
