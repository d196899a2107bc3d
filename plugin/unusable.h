// Hosts on which tfabric cannot be used: which process warns, and the device NCCL gets if tfabric is
// required.
#pragma once

#include <string>

#include "config/config.h"
#include "transport/transport.h"

namespace tfabric::plugin {

// Returns true if this process is the first of its job on this host that asks: what is wrong with a host is
// warned of once, not by each rank. The answer to a process stays true however often it asks. Processes agree
// by a lock in the folder; without a folder, local rank 0 is the first, and without a launcher every process
// is. Thread-safe.
[[nodiscard]] bool is_first_of_job(const config::LockFolder& folder, const config::Launcher& launcher);

// Returns what NCCL does where tfabric is not usable and not required, to follow "not usable here": it uses
// its own network, or fails if NCCL_NET names this plugin alone.
[[nodiscard]] std::string what_follows(const config::Environment& environment);

inline constexpr const char* kUnusableName = "tfabric-unusable";

// A device whose listeners and connections all fail with the reason. NCCL takes every answer of init and
// devices for "use another network" and says so at INFO only; a listener that cannot be made fails the
// communicator, which is what `required` asks for.
class UnusableDevice final : public transport::Device {
 public:
  explicit UnusableDevice(const std::string& reason);

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(std::span<std::byte, transport::kHandleBytes> handle,
                                                      const transport::ListenOptions& options) override;
  Result<std::unique_ptr<transport::SendComm>> connect(std::span<std::byte, transport::kHandleBytes> handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  std::string message_;
  transport::DeviceProperties properties_;
};

}  // namespace tfabric::plugin
