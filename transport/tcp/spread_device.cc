#include "transport/tcp/spread_device.h"

namespace tfabric::tcp {

Result<std::unique_ptr<transport::Listener>> SpreadDevice::listen(HandleBytes handle) {
  return devices_[listens_.fetch_add(1, std::memory_order_relaxed) % devices_.size()]->listen(handle);
}

Result<std::unique_ptr<transport::SendComm>> SpreadDevice::connect(HandleBytes handle,
                                                                   const transport::ConnectOptions& options) {
  // An attempt goes on where it began.
  const std::uint64_t attempt = attempt_of(handle);
  const std::size_t place = attempt == 0 ? connects_.fetch_add(1, std::memory_order_relaxed) : attempt - 1;
  return devices_[place % devices_.size()]->connect(handle, options);
}

}  // namespace tfabric::tcp
