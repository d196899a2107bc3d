#include "plugin/unusable_device.h"

namespace tfabric::plugin {

UnusableDevice::UnusableDevice(const std::string& why)
    : why_("tfabric is required, and not usable here: " + why) {
  properties_.name = kUnusableName;
}

Result<std::unique_ptr<transport::Listener>> UnusableDevice::listen(
    std::span<std::byte, transport::kHandleBytes> /*handle*/) {
  return Error{Errc::unusable, why_};
}

Result<std::unique_ptr<transport::SendComm>> UnusableDevice::connect(
    std::span<std::byte, transport::kHandleBytes> /*handle*/, const transport::ConnectOptions& /*options*/) {
  return Error{Errc::unusable, why_};
}

}  // namespace tfabric::plugin
