// A device of the TCP transport: one or more rails, shown to NCCL as one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/tcp/comm/context.h"
#include "transport/tcp/comm/send_comm.h"
#include "transport/tcp/rails/rail.h"
#include "transport/tcp/session/acceptor.h"
#include "transport/transport.h"

namespace tfabric::tcp {

class Device final : public transport::Device {
 public:
  // Attempts to connect have the numbers first, first + step, …
  struct AttemptNumbers {
    std::uint64_t first = 1, step = 1;
  };
  Device(const Context& context, Acceptor& acceptor, std::vector<Rail*> rails,
         transport::DeviceProperties properties, AttemptNumbers numbers)
      : context_(context),
        acceptor_(&acceptor),
        rails_(std::move(rails)),
        properties_(std::move(properties)),
        attempt_step_(numbers.step),
        next_attempt_(numbers.first) {}

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(HandleBytes handle) override;
  // Packets are not marked, whatever traffic class the communicator has.
  Result<std::unique_ptr<transport::SendComm>> connect(HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  // A connection that is being made; lives between calls of connect().
  struct Attempt {
    Handle peer;
    Instant since;
    std::unique_ptr<SendComm> comm;  // null until all links are there
  };

  // Ends the attempts that connect() is no longer called for: when a communicator fails, NCCL just stops
  // calling.
  void drop_abandoned();
  // Goes on with an attempt; true once its comm is ready.
  Result<bool> advance(Attempt& attempt);
  Result<bool> open_flows(Attempt& attempt);
  Result<std::vector<SendRoute>> routes_to(const Handle& peer);
  std::shared_ptr<Path> path_to(const Rail& rail, const net::IpAddress& remote);
  Error explain_timeout(const Attempt& attempt) const;

  Context context_;
  Acceptor* acceptor_;
  std::vector<Rail*> rails_;
  transport::DeviceProperties properties_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Attempt>> attempts_;  // guarded by mutex_; by number, oldest first
  std::uint64_t attempt_step_;
  std::uint64_t next_attempt_;  // guarded by mutex_
};

}  // namespace tfabric::tcp
