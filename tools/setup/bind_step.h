// Takes an ENI from the kernel's driver and gives it to DPDK's; undone, the kernel has it as before, network
// included.
#pragma once

#include "tools/setup/eni.h"
#include "tools/setup/step.h"

namespace tfabric::setup {

class BindStep final : public Step {
 public:
  static constexpr auto kKind = "bind";

  BindStep(Eni eni, std::string driver) : eni_(std::move(eni)), driver_(std::move(driver)) {}
  explicit BindStep(const Json& wanted)
      : BindStep(eni_from(part_of(wanted, "eni")), text_of(wanted, "driver")) {}

  [[nodiscard]] std::string id() const override { return "bind " + eni_.address; }
  [[nodiscard]] std::string describe() const override {
    return "bind " + eni_.address + " (" + eni_.name + ") to " + driver_;
  }
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"eni", to_json(eni_)}, {"driver", driver_}};
  }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  // Refuses a NIC that has another MAC than was recorded, or by which the administrator has come since.
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool touches_network() const override { return true; }
  [[nodiscard]] bool again_at_boot() const override { return true; }

  [[nodiscard]] const Eni& eni() const { return eni_; }
  [[nodiscard]] const std::string& driver() const { return driver_; }

 private:
  Eni eni_;
  std::string driver_;
};

}  // namespace tfabric::setup
