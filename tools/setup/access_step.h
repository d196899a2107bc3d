// Lets a group of users open VFIO's file of a NIC: the kernel makes it for root alone, each time that the NIC
// is bound. With an IOMMU that is all the right a job needs for it, beside the memory that VFIO locks.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

class AccessStep final : public Step {
 public:
  static constexpr auto kKind = "access";

  AccessStep(std::string address, std::string group)
      : address_(std::move(address)), group_(std::move(group)) {}
  explicit AccessStep(const Json& wanted)
      : AccessStep(text_of(wanted, "address"), text_of(wanted, "group")) {}

  [[nodiscard]] std::string id() const override { return "access " + address_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"address", address_}, {"group", group_}};
  }
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& /*host*/) const override { return Json::object(); }
  Status apply(Host& host, const Json& before) const override;
  // The file goes when the NIC is the kernel's again.
  Status undo(Host& /*host*/, const Json& /*before*/) const override { return {}; }
  [[nodiscard]] bool again_at_boot() const override { return true; }

 private:
  std::string address_, group_;
};

}  // namespace tfabric::setup
