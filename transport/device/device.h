// A device: one or more rails, shown to NCCL as one; and one over several engines.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/comm/context.h"
#include "transport/comm/send_comm.h"
#include "transport/engine/turn.h"
#include "transport/rails/rail.h"
#include "transport/session/acceptor.h"
#include "transport/session/handshake.h"
#include "transport/session/pairing.h"
#include "transport/transport.h"

namespace tfabric::device {

// A rail in the comms of a device.
struct DeviceRail {
  rails::Rail* rail = nullptr;
  session::RailRole role = session::RailRole::own;
  bool said_no_way = false;  // that a peer's rail cannot be reached over it
};

// A device of one engine.
class Device final : public transport::Device {
 public:
  // Attempts to connect have the numbers first, first + step, …
  struct AttemptNumbers {
    std::uint64_t first = 1, step = 1;
  };
  // Beside `rails`, it has those of Context::offered, which are its own. `port`: at which our own TCP
  // listens, in this engine.
  Device(const comm::Context& context, std::uint16_t port, session::Acceptor& acceptor,
         std::vector<DeviceRail> rails, transport::DeviceProperties properties, AttemptNumbers numbers)
      : context_(context),
        port_(port),
        acceptor_(&acceptor),
        rails_(std::move(rails)),
        properties_(std::move(properties)),
        attempt_step_(numbers.step),
        next_attempt_(numbers.first) {}

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes handle,
                                                      const transport::ListenOptions& options) override;
  // Our own TCP and the kernel's ignore the communicator's traffic class: their packets are not marked.
  Result<std::unique_ptr<transport::SendComm>> connect(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  // A connection that is being made, kept between calls of connect().
  struct Attempt {
    session::Handle peer;
    int traffic_class = -1;
    Instant since;
    Duration paused;                       // Engine::paused() then
    std::unique_ptr<comm::SendComm> comm;  // null until all links are up
  };

  // Ends the attempts for which connect() is no longer called: when a communicator fails, NCCL only stops
  // calling.
  void drop_abandoned();
  // Continues an attempt; returns true once its comm is ready.
  Result<bool> advance(Attempt& attempt);
  Result<bool> open_lanes(Attempt& attempt);
  Result<std::vector<comm::SendRoute>> routes_to(const session::Handle& peer) TF_IN_TURN;
  [[nodiscard]] std::vector<comm::SendRoute> offered_routes(const session::Handle& peer) TF_IN_TURN;
  static Result<rails::Way> way_over(rails::Rail& rail, const net::IpAddress& peer,
                                     std::uint64_t process) TF_IN_TURN;
  [[nodiscard]] Error no_way_to(const session::Handle& peer, const std::optional<Error>& why) const;
  void note_no_way(const session::RailPair& pair, const Error& why);
  std::shared_ptr<flows::Path> path_to(const rails::Rail& rail, const net::IpAddress& remote) TF_IN_TURN;
  Error explain_timeout(const Attempt& attempt) const;

  comm::Context context_;
  std::uint16_t port_;
  session::Acceptor* acceptor_;
  std::vector<DeviceRail> rails_;  // its own first
  transport::DeviceProperties properties_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Attempt>> attempts_;  // guarded by mutex_; by number, oldest first
  std::uint64_t attempt_step_;
  std::uint64_t next_attempt_;  // guarded by mutex_
};

// A device whose comms are spread over the process's engines: one device for each engine, used by turns.
//
// listen() and connect() are counted apart, since a ring of ranks has as many of each: both are spread
// evenly.
class SpreadDevice final : public transport::Device {
 public:
  // `devices`: at least one. They number their attempts so that each finds its own (Device::AttemptNumbers):
  // the first of two 1, 3, 5, …, the second 2, 4, 6, …. `first`: the device that is used first, so that
  // several spread devices begin with different engines.
  SpreadDevice(std::vector<std::unique_ptr<transport::Device>> devices, std::size_t first)
      : devices_(std::move(devices)), listens_(first), connects_(first) {}

  [[nodiscard]] const transport::DeviceProperties& properties() const override {
    return devices_.front()->properties();
  }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes handle,
                                                      const transport::ListenOptions& options) override;
  Result<std::unique_ptr<transport::SendComm>> connect(transport::HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  std::vector<std::unique_ptr<transport::Device>> devices_;
  std::atomic<std::size_t> listens_, connects_;
};

}  // namespace tfabric::device
