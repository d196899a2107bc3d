#include <array>
#include <catch2/catch.hpp>

#include "transport/device/device.h"

namespace tfabric::device {
namespace {

// Counts what it is asked for; a connect() takes several calls, as a real one.
class Recorder final : public transport::Device {
 public:
  Recorder(std::uint64_t first, std::uint64_t step) : next_(first), step_(step) {}
  [[nodiscard]] const transport::DeviceProperties& properties() const override { return properties_; }
  Result<std::unique_ptr<transport::Listener>> listen(transport::HandleBytes,
                                                      const transport::ListenOptions&) override {
    ++listens;
    return std::unique_ptr<transport::Listener>();
  }
  Result<std::unique_ptr<transport::SendComm>> connect(
      transport::HandleBytes handle, const transport::ConnectOptions& /*options*/) override {
    if (transport::attempt_of(handle) == 0) {
      ++begun;
      transport::set_attempt(handle, next_);
      next_ += step_;
    } else {
      ++continued;
    }
    return std::unique_ptr<transport::SendComm>();
  }

  int listens = 0, begun = 0, continued = 0;

 private:
  transport::DeviceProperties properties_;
  std::uint64_t next_, step_;
};

}  // namespace

TEST_CASE(
    "listeners and connectors are spread evenly, each kind by itself, and an attempt stays where it began") {
  constexpr std::size_t kEngines = 3, kRounds = 4;
  std::vector<std::unique_ptr<transport::Device>> devices;
  std::vector<Recorder*> recorders;
  for (std::size_t e = 0; e < kEngines; ++e) {
    auto recorder = std::make_unique<Recorder>(e + 1, kEngines);
    recorders.push_back(recorder.get());
    devices.push_back(std::move(recorder));
  }
  SpreadDevice device(std::move(devices), 1);
  std::array<std::array<std::byte, transport::kHandleBytes>, kEngines * kRounds> handles{};
  REQUIRE(device.listen(handles.front(), {}).ok());
  REQUIRE(recorders[1]->listens == 1);
  recorders[1]->listens = 0;
  for (auto& handle : handles) {
    REQUIRE(device.listen(handle, {}).ok());
    REQUIRE(device.connect(handle, {}).ok());
  }
  for (auto& handle : handles) {
    REQUIRE(device.connect(handle, {}).ok());
    REQUIRE(device.connect(handle, {}).ok());
  }
  for (const Recorder* recorder : recorders) {
    CHECK(recorder->listens == kRounds);
    CHECK(recorder->begun == kRounds);
    CHECK(recorder->continued == 2 * kRounds);
  }
}

}  // namespace tfabric::device
