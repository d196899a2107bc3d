// Whether the processes at the other ends of comms are still there, when their transport's own connections
// cannot say.
//
// A process whose TCP is its own falls silent when it is killed, when it is stopped, and when a cable is cut:
// no kernel answers for it. So each pair of processes also has one connection of their kernels' TCP, over the
// interface that NCCL's bootstrap uses. A process that ends closes it, whatever its end; one that is stopped
// leaves questions unanswered that its kernel acknowledges; a host that is gone acknowledges nothing. Nothing
// else travels on it. Where it cannot be made, the view of the peer stays `unknown`, and everything works as
// without.
//
// The process with the lower number dials. A connection that ends proves little if something between the
// hosts has closed it: the peer is dialled once more then, and is not ended if it answers.
//
// At most kMaxPeers peers have a connection at once; further ones stay `unknown`. Connections of peers that
// no comm holds any more are closed when others need their places. Strangers, who do not show the token, are
// bounded in number and time.
//
// All functions are thread-safe and none blocks. poll() is to be called about once a millisecond, by any of
// the process's engines; time in which it is not called does not count. Descriptors: one for each connection,
// and two.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/fork_guard.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/witness/channel.h"
#include "transport/witness/contact.h"
#include "transport/witness/message.h"
#include "transport/witness/peer.h"

namespace tfabric::witness {

struct Options {
  config::IpBytes address{};  // of this host; the port is the kernel's choice
  Introduction self;
  std::string patience;  // how long comms wait for a process that is stopped, for the warning
};

class Witness {
 public:
  static constexpr std::size_t kMaxPeers = 256;

  // Fails with Errc::system if there can be no sockets, as without a network of the kernel.
  static Result<std::unique_ptr<Witness>> open(const Options& options);
  // Closes all connections, which the peers take for the end of this process: no comm may be open.
  ~Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Where peers reach this one.
  [[nodiscard]] const Contact& contact() const { return contact_; }
  // A comm has its other end in that process. Returns null if it has no witness, or is this process. The
  // connection is kept as long as the result is held.
  [[nodiscard]] std::shared_ptr<Peer> meet(const Contact& peer);
  // A comm wants to know whether the peer runs, for the next three seconds.
  void want(const Peer& peer);
  // "rank 7, pid 4242 on gpu2"; empty if it is not known.
  [[nodiscard]] std::string describe(const Peer& peer) const;
  // All sockets but the listening one, those of strangers included.
  [[nodiscard]] std::size_t connections() const;

  void poll(Instant now);
  // Grows whenever a peer has been found to have ended, or to run again after it was stopped.
  [[nodiscard]] std::uint64_t news() const { return news_.load(std::memory_order_acquire); }

 private:
  enum class Stage : std::uint8_t {
    dialling,  // by us: the kernels have not connected yet
    greeting,  // by us: the peer's opening has not arrived
    stranger,  // by another process, whose opening has not arrived
    open
  };
  struct Link {
    Channel channel;
    Stage stage;
    Purpose purpose;
    std::uint64_t process;  // of the peer; 0: a stranger's
    Instant since;
  };
  struct Entry {
    std::shared_ptr<Peer> peer;
    Contact contact;  // does not exist until a comm brings it
    Introduction who;
    Standing standing;
    std::uint64_t link = 0;     // the connection; 0: none
    std::uint64_t attempt = 0;  // the connection that is being dialled; 0: none
    Instant next_dial{};        // no connection is dialled before
    Duration pause = kFirstPause;
    Instant stopped_at{};  // while it is stopped
    bool warned = false;   // that it is
  };
  static constexpr Duration kFirstPause = std::chrono::seconds(1);

  Witness(const Options& options, PrivateDescriptor epoll, PrivateDescriptor listening,
          const Contact& contact);

  Entry& entry_of(std::uint64_t process);
  // --- about peers (witness.cc)
  void tick();
  void ask(Entry& entry);
  void publish(Entry& entry);
  void on_stopped(Entry& entry);
  void on_resumed(Entry& entry);
  [[nodiscard]] bool is_to_be_dialled(const Entry& entry) const;
  void attach(Entry& entry, std::uint64_t serial, const Introduction& who);
  void back_off(Entry& entry);
  bool make_room();

  // --- about connections (witness_links.cc)
  void take_events();
  void accept_strangers();
  std::uint64_t add_link(PrivateDescriptor socket, Stage stage, Purpose purpose, std::uint64_t process);
  void dial(Entry& entry, Purpose purpose);
  void on_event(std::uint64_t serial, Link& link);
  void on_connected(std::uint64_t serial, Link& link);
  void on_opening(std::uint64_t serial, Link& link, const Opening& opening);
  void on_stranger(std::uint64_t serial, Link& link, const Opening& opening);
  void on_record(Link& link, const Record& record);
  void drop(std::uint64_t serial);
  void drop_slow();
  void drop_oldest_stranger();

  const Options options_;
  const PrivateDescriptor epoll_, listening_;
  const Contact contact_;

  mutable std::mutex mutex_;  // guards the rest
  Instant clock_{};           // stands still while this is not polled
  Instant last_poll_{}, next_tick_{};
  std::uint64_t last_serial_ = 0;
  std::unordered_map<std::uint64_t, Link> links_;  // by serial number
  std::map<std::uint64_t, Entry> peers_;           // by process
  std::atomic<std::uint64_t> news_{0};
};

}  // namespace tfabric::witness
