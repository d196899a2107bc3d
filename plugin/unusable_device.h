// What NCCL is shown where tfabric cannot be used and must be (`required`): a device that nothing can be done
// with.
//
// Whatever init and devices return, NCCL takes it for "use another network", and says so at INFO only. That a
// listener cannot be made it hands to the application, as the failure of its communicator.
#pragma once

#include <string>

#include "transport/transport.h"

namespace tfabric::plugin {

inline constexpr const char* kUnusableName = "tfabric-unusable";

class UnusableDevice final : public transport::Device {
 public:
  explicit UnusableDevice(const std::string& why);

  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(
      std::span<std::byte, transport::kHandleBytes> handle) override;
  Result<std::unique_ptr<transport::SendComm>> connect(std::span<std::byte, transport::kHandleBytes> handle,
                                                       const transport::ConnectOptions& options) override;

 private:
  std::string why_;
  transport::DeviceProperties properties_;
};

}  // namespace tfabric::plugin
