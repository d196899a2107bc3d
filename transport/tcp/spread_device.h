// A device whose comms are spread over the process's engines: one device for each engine, used by turns.
//
// Who listens and who connects are counted apart, since a ring of ranks has as many of each: either kind
// alone is spread evenly.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "transport/tcp/session/handle.h"
#include "transport/transport.h"

namespace tfabric::tcp {

class SpreadDevice final : public transport::Device {
 public:
  // At least one. They number their attempts so that each finds its own (Device::AttemptNumbers): the first
  // of two 1, 3, 5, …, the second 2, 4, 6, …. `first`: whose turn it is first; of several devices, each
  // begins with another engine.
  SpreadDevice(std::vector<std::unique_ptr<transport::Device>> devices, std::size_t first)
      : devices_(std::move(devices)), listens_(first), connects_(first) {}

  [[nodiscard]] const transport::DeviceProperties& properties() const override {
    return devices_.front()->properties();
  }
  Result<std::unique_ptr<transport::Listener>> listen(HandleBytes handle) override;
  Result<std::unique_ptr<transport::SendComm>> connect(HandleBytes handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  std::vector<std::unique_ptr<transport::Device>> devices_;
  std::atomic<std::size_t> listens_, connects_;
};

}  // namespace tfabric::tcp
