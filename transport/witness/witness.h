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
// hosts has closed it: the peer is dialled once more then, and asked over the comms' lanes. It has not ended
// if it answers either.
//
// At most kMaxPeers peers have a connection, or as many as a quarter of the descriptors that the process may
// have (RLIMIT_NOFILE) if that is less; which ones, chance decides. A peer beyond them stays `unknown`, and
// the log says so once. Connections of peers that no comm holds any more are closed when others need their
// places. Strangers, who do not show the token, are bounded in number and time.
//
// Descriptors: two, one for each connection, one for some seconds for each whose end is verified, and 64 for
// strangers.
//
// All functions are thread-safe and none blocks. poll() is to be called about once a millisecond, by any of
// the process's engines; time in which it is not called does not count.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_guard.h"
#include "base/result.h"
#include "base/time.h"
#include "transport/witness/channel.h"
#include "transport/witness/contact.h"
#include "transport/witness/message.h"
#include "transport/witness/peer.h"
#include "transport/witness/standing.h"

namespace tfabric::witness {

// A descriptor and 0.5 KiB each. A job of that many processes has a connection for each pair.
inline constexpr std::size_t kMaxPeers = 2048;

struct Options {
  config::IpBytes address{};  // of this host; the port is the kernel's choice
  verdict::Process self;
  std::string patience;  // how long comms wait for a process that is stopped, for messages
  bool warns = true;     // of such a process; false: something else does, where a comm waits for it
  std::size_t max_peers = kMaxPeers;
};

class Witness {
 public:
  // Fails with Errc::system if there can be no sockets, as without a network of the kernel.
  static Result<std::unique_ptr<Witness>> open(const Options& options);
  // Closes all connections, which the peers take for the end of this process: no comm may be open.
  ~Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Where peers reach this one.
  [[nodiscard]] const Contact& contact() const { return contact_; }
  // A comm has its other end in that process, and its key is one that both have from now on. Returns null if
  // it has no witness, or is this process. The connection is kept as long as the result is held.
  [[nodiscard]] std::shared_ptr<Peer> meet(const Contact& peer);
  // A comm wants to know whether the peer runs, for the next three seconds.
  void want(const Peer& peer);
  // Returns who the process is; with a pid of 0 if that is not known.
  [[nodiscard]] verdict::Process introduction(const Peer& peer) const;
  // "rank 7, pid 4242 on gpu2"; empty if it is not known.
  [[nodiscard]] std::string describe(const Peer& peer) const;
  // For how long nothing of the peer's process has come here over the rails, as Peer::heard() has it, and
  // nothing of this one there, as it has said within the last two seconds. Nothing: never, or not known.
  struct Hearing {
    std::optional<Duration> here, there;
  };
  [[nodiscard]] Hearing hearing(const Peer& peer) const;
  // All sockets but the listening one, those of strangers included.
  [[nodiscard]] std::size_t connections() const;

  void poll(Instant now);
  // Returns true while it is in doubt whether a peer has ended, so that lanes are to be asked
  // (Peer::doubt()).
  [[nodiscard]] bool doubts() const { return doubts_.load(std::memory_order_acquire) > 0; }
  // Grows whenever a peer has been found to have ended, or to run again after it was stopped.
  [[nodiscard]] std::uint64_t news() const { return news_.load(std::memory_order_acquire); }

 private:
  enum class Stage : std::uint8_t {
    dialling,  // by us: the kernels have not connected yet
    greeting,  // by us: the peer's opening has not arrived
    stranger,  // by another process, whose opening has not arrived
    proving,   // by another process, whose proof has not arrived
    open
  };
  // What has been said on a connection that is not open yet.
  struct Greeting {
    Token key{};
    OpeningBytes opening{};     // the dialler's
    std::uint64_t process = 0;  // by whom it is, if it is not ours
    verdict::Process who;
    SipHashTag proof{};  // that is to come
  };
  struct Connection {
    Channel channel;
    Stage stage = Stage::stranger;
    Purpose purpose = Purpose::stay;
    std::uint64_t process = 0;  // of the peer; 0: a stranger's
    Instant since{};
    std::unique_ptr<Greeting> greeting{};
  };
  struct Entry {
    std::shared_ptr<Peer> peer;
    Contact contact;           // does not exist until a comm brings it
    std::vector<Token> keys;   // of the comms with the process, the newest last
    bool key_used = false;     // the last one is that of the last connection instead
    std::size_t openings = 0;  // that were sent since
    verdict::Process who;
    Standing standing;
    std::uint64_t connection = 0;  // 0: none
    std::uint64_t attempt = 0;     // the connection that is being dialled; 0: none
    Instant next_dial{};           // no connection is dialled before
    Duration pause = kFirstPause;
    Instant heard_there{};  // when it has heard of this process over the rails; Instant{}: it does not say
    Instant said_at{};      // that
    Instant stopped_at{};   // while it is stopped
    bool warned = false;    // that it is
    bool said_lost = false;
    std::uint32_t doubt = 0;  // 0: none
    std::uint32_t looks = 0;  // of engines with living lanes, while there is
    Instant living_at{};      // when they grew
    Instant heard_before{};
  };
  static constexpr Duration kFirstPause = std::chrono::seconds(1);

  Witness(const Options& options, PrivateDescriptor epoll, PrivateDescriptor listening,
          const Contact& contact);

  Entry& entry_of(std::uint64_t process);
  // --- about peers (witness.cc)
  void tick();
  void look_at_peers();
  void ask(Entry& entry);

  // --- what is known of them (witness_views.cc)
  void look_at_lanes(Entry& entry);
  void begin_doubt(Entry& entry);
  void end_doubt(Entry& entry);
  void publish(Entry& entry);
  void say_lost(Entry& entry);
  void on_stopped(Entry& entry);
  void on_resumed(Entry& entry);

  // --- which connections there may be (witness_places.cc)
  [[nodiscard]] bool is_to_be_dialled(const Entry& entry) const;
  bool make_room();
  void attach(Entry& entry, std::uint64_t serial, const Greeting& greeting, const verdict::Process& who);
  void back_off(Entry& entry);
  void close_connection(std::uint64_t serial);
  void drop_slow();
  void limit_strangers();

  // --- about connections (witness_connections.cc)
  void take_events();
  void accept_strangers();
  std::uint64_t add_connection(Connection connection);
  void dial(Entry& entry, Purpose purpose);
  void on_event(std::uint64_t serial, Connection& connection);
  void on_connected(std::uint64_t serial, Connection& connection);
  void on_greeting(std::uint64_t serial, Connection& connection);
  void on_opening(std::uint64_t serial, Connection& connection,
                  std::span<const std::byte, kOpeningBytes> bytes);
  void on_stranger(std::uint64_t serial, Connection& connection,
                   std::span<const std::byte, kOpeningBytes> bytes);
  void on_proof(std::uint64_t serial, Connection& connection, std::span<const std::byte> bytes);
  void on_record(const Connection& connection, const Record& record);
  [[nodiscard]] Record answer_to(const Record& question, const Peer* asker) const;
  void on_answer(Entry& entry, const Record& answer);
  void drop(std::uint64_t serial);

  const Options options_;
  const PrivateDescriptor epoll_, listening_;
  const Contact contact_;

  mutable std::mutex mutex_;  // guards the rest
  Instant clock_{};           // stands still while this is not polled
  Instant last_poll_{}, next_look_{}, next_tick_{};
  std::uint64_t last_serial_ = 0;
  std::unordered_map<std::uint64_t, Connection> connections_;  // by serial number
  std::map<std::uint64_t, Entry> peers_;                       // by process
  std::uint64_t last_peer_ = 0;                                // that was looked at
  Instant full_until_{};                                       // no peer is dialled before
  std::uint32_t last_doubt_ = 0;
  bool said_full_ = false, said_lost_ = false;
  std::atomic<std::uint32_t> doubts_{0};  // peers
  std::atomic<std::uint64_t> news_{0};
};

}  // namespace tfabric::witness
