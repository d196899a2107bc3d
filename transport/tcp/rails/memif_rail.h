// A rail through shared memory between the processes of one host: no NIC, no root, no hugepages.
//
// Each process has a random 64-bit id, an IPv6 address made of it (RFC 4193), and a control socket in the
// abstract namespace. Two processes are joined by one memif connection. The process that needs it asks the
// other's control socket to open its end; the one with the smaller id is memif's server. A thread of the rail
// answers requests and opens and closes ports, so that no NCCL call waits for it. Only processes of the same
// user are answered.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/descriptor.h"
#include "transport/tcp/rails/rail.h"

namespace tfabric::tcp {

class MemifRail final : public Rail {
 public:
  // `engines`: how many engines the process has; each opens such a rail of its own.
  static Result<std::unique_ptr<Rail>> open(const config::Rail& config, engine::Engine& engine,
                                            std::size_t engines);
  ~MemifRail() override;

  [[nodiscard]] net::IpAddress address() const override { return address_of(process_); }
  [[nodiscard]] std::uint64_t process() const override { return process_; }
  Result<Route> route_to(const net::IpAddress& peer, std::uint64_t peer_process) override;
  [[nodiscard]] std::uint32_t mtu() const override { return mtu_; }

  [[nodiscard]] static net::IpAddress address_of(std::uint64_t process);

 private:
  // The connection to one process.
  struct Peer {
    engine::Link* link = nullptr;  // null while it is being opened
    Instant asked{};               // when the peer was last asked to open its end
    Instant since{};               // when the connection was first wanted
    bool was_up = false;
    std::string failure;
  };

  Result<engine::Link*> link_to(std::uint64_t peer_process);
  MemifRail(const config::Rail& config, engine::Engine& engine, std::size_t engines, std::uint64_t process,
            Descriptor control, Descriptor wake, engine::Link* loop);
  void run();
  void take_requests();
  void open_links();
  void open_link(std::uint64_t process);
  [[nodiscard]] bool is_server_for(std::uint64_t peer) const { return process_ < peer; }
  void ask(std::uint64_t process) const;
  void watch_links();
  void ask_again(std::uint64_t process, Peer& peer, Instant now) const;
  // Returns what is wrong with a connection that is dead or late; empty: nothing.
  [[nodiscard]] std::string failure_of(std::uint64_t process, const Peer& peer, bool up, Instant now) const;
  Result<std::unique_ptr<engine::Link>> make_link(std::uint64_t peer) const;

  engine::Engine* engine_;
  std::uint64_t process_;
  std::uint32_t mtu_;
  std::shared_ptr<stack::ReceiveShare> receive_share_;
  Descriptor control_;  // the control socket
  engine::Link* loop_;  // to this process itself; its receive pool serves all links

  // Guarded by the engine's lock.
  std::map<std::uint64_t, Peer> peers_;

  std::set<std::uint64_t> openable_;  // peers to which our end may be opened; the rail's thread alone uses it

  std::mutex mutex_;
  std::set<std::uint64_t> wanted_;  // guarded by mutex_: peers to open a link to
  bool stop_ = false;               // guarded by mutex_
  Descriptor wake_;                 // eventfd: wanted_ or stop_ has changed
  std::thread thread_;
};

// --- memif_control.cc: datagrams between control sockets, which say "open your end of our wire"

// Opens the socket that processes of this user on this host reach by `process`.
Result<Descriptor> open_memif_control(std::uint64_t process);
// Asks `to` to open its end of the wire to `from`. Returns false if no process listens there.
bool ask_memif_peer(int socket, std::uint64_t from, std::uint64_t to);
// Returns the next process that asks for a wire; empty: none at present. Drops malformed datagrams and those
// of other users.
std::optional<std::uint64_t> next_memif_request(int socket);

}  // namespace tfabric::tcp
