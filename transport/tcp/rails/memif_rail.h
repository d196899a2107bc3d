// A rail through shared memory between the processes of one host: no NIC, no root, no hugepages.
//
// Each process has a random 64-bit id, an IPv6 address made of it (RFC 4193), and a control socket in the
// abstract namespace. Two processes are joined by one memif connection; whoever needs it asks the other's
// control socket to open its end. The process with the smaller id is memif's server. A thread of the
// rail answers requests and opens and closes ports, so that no NCCL call waits for it. Only processes of
// the same user are answered.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/descriptor.h"
#include "transport/tcp/rails/rail.h"

namespace tfabric::tcp {

class MemifRail final : public Rail {
 public:
  // `engines`: how many of the process have such a rail, each its own.
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
    Instant asked{};               // when the peer was asked last
    Instant since{};
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
  Result<std::unique_ptr<engine::Link>> make_link(std::uint64_t peer) const;

  engine::Engine* engine_;
  std::uint64_t process_;
  std::uint32_t mtu_;
  std::shared_ptr<stack::ReceiveShare> receive_share_;
  Descriptor control_;  // the control socket
  engine::Link* loop_;  // to ourselves; its receive pool serves all links

  // Guarded by the engine's lock.
  std::map<std::uint64_t, Peer> peers_;

  std::set<std::uint64_t> openable_;  // used by the rail's thread alone: our end may be opened now

  std::mutex mutex_;
  std::set<std::uint64_t> wanted_;  // guarded by mutex_: peers to open a link to
  bool stop_ = false;               // guarded by mutex_
  Descriptor wake_;                 // eventfd: wanted_ or stop_ has changed
  std::thread thread_;
};

}  // namespace tfabric::tcp
