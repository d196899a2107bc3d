// A rail through shared memory between the processes of one host: no NIC, no root, no hugepages.
//
// Its kind is `memif` without a device, after what it was first made of. Each process has a random 64-bit
// number, which is in its handles and nowhere else to be seen, and an IPv6 address (RFC 4193) made of its
// public name. A process that needs a wire to another one asks for it (local_session.h); if both ask at once,
// there are two, and each uses its own. A thread of the rail makes and ends wires, so that no NCCL call waits
// for it.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/fork_guard.h"
#include "transport/engine/turn.h"
#include "transport/rails/local_session.h"
#include "transport/rails/rail.h"
#include "transport/tcp/nic/shared_wire.h"
#include "transport/tcp/stack/receive_share.h"

namespace tfabric::rails {

class LocalRail final : public Rail {
 public:
  // How long a process may take to answer: less than connecting may take by default, so that the reason is
  // reported.
  static constexpr Duration kAnswerTimeout = std::chrono::seconds(9);

  static OpenedRail open_all(const config::Rail& config, std::span<link::Tcp* const> engines);
  // The end of one of `engines` engines. `rehearsal`: the faults
  // of all of them, or null.
  static Result<std::unique_ptr<Rail>> open(const config::Rail& config, link::Tcp& tcp, std::size_t engines,
                                            Duration answer_timeout = kAnswerTimeout,
                                            std::shared_ptr<engine::Rehearsal> rehearsal = nullptr);
  ~LocalRail() override;

  [[nodiscard]] net::IpAddress address() const override { return address_of(process_); }
  [[nodiscard]] std::uint64_t process() const override { return process_; }
  Result<Way> way_to(const net::IpAddress& peer, std::uint64_t peer_process) override TF_IN_TURN;
  [[nodiscard]] std::uint32_t mtu() const override { return mtu_; }
  [[nodiscard]] std::shared_ptr<engine::Rehearsal> rehearsal() override { return rehearsal_; }

  [[nodiscard]] static net::IpAddress address_of(std::uint64_t process);

 private:
  // The way to one process.
  struct Peer {
    link::Link* link = nullptr;  // null while it is being made
    std::string failure;         // of the last attempt; empty: none has failed
    Instant failed{};
  };

  // A connection to a process. The rail's thread alone uses these.
  struct Connection {
    enum class State : std::uint8_t {
      unnamed,  // the other end has connected, and not said who it is
      asking,   // we have connected, and wait for the wire
      joined,   // there is a wire
      draining  // the other process has gone, and left frames in the wire
    };
    Connection(LocalConnection&& made, State first, Instant begin)
        : socket(std::move(made.socket)), peer(made.peer), state(first), since(begin) {}
    PrivateDescriptor socket;
    LocalPeer peer;
    State state;
    Instant since;
    std::uint64_t process = 0;  // once it is known
    std::shared_ptr<nic::SharedWire> wire;
    link::Link* link = nullptr;
  };
  using Connections = std::list<Connection>;

  // What open() has made.
  struct Parts {
    std::uint64_t process;
    link::Link* loop;
    Descriptor listener, wake;
    std::shared_ptr<engine::Rehearsal> rehearsal;
  };
  LocalRail(const config::Rail& config, link::Tcp& tcp, std::size_t engines, Duration answer_timeout,
            Parts parts);

  [[nodiscard]] static net::MacAddress mac_of(std::uint64_t process);

  // --- the thread (local_rail_thread.cc)
  void run();
  bool wait();  // returns false if the thread shall end
  [[nodiscard]] std::ptrdiff_t count(Connection::State state) const;
  [[nodiscard]] int patience() const;
  void accept_all();
  void dial_wanted();
  void dial(std::uint64_t process, Instant since);
  void read_all();
  // Return false if the connection is to be given up.
  bool on_message(Connection& connection, LocalIncoming& incoming);
  bool on_hello(Connection& connection, const LocalMessage& hello);
  bool on_welcome(Connection& connection, LocalIncoming& incoming);
  Status make_link(Connection& connection);
  // Ends a connection or, if there is a wire that still holds something, lets it drain first.
  void hang_up(Connection& connection);
  void give_up(Connection& connection, const std::string& why);
  // Tells the process at the other end that there will be no wire, and our log why.
  void refuse(Connection& connection, const std::string& why);
  void give_up_late();
  void remove_ended();
  void fail(std::uint64_t process, const std::string& why);

  link::Tcp* tcp_;
  std::uint64_t process_;
  std::uint32_t mtu_;
  Duration answer_timeout_;
  std::shared_ptr<stack::ReceiveShare> receive_share_;
  std::shared_ptr<engine::Rehearsal> rehearsal_;
  PrivateDescriptor listener_;
  link::Link* loop_;  // to this process itself; its receive pool serves all links

  // Guarded by the engine's lock.
  std::map<std::uint64_t, Peer> peers_;

  // Of the thread.
  Connections connections_;
  std::map<std::uint64_t, Instant> dialling_;  // processes to connect to, and since when
  Instant deaf_until_{};                       // when to accept again
  Instant watched_{};                          // when the links were last looked at
  std::vector<pollfd> polled_;

  std::mutex mutex_;
  std::set<std::uint64_t> wanted_;  // guarded by mutex_: processes to connect to
  bool stop_ = false;               // guarded by mutex_
  PrivateDescriptor wake_;          // eventfd: wanted_ or stop_ has changed
  std::thread thread_;
};

}  // namespace tfabric::rails
