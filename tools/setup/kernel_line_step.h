// The kernel's command line of the next boots, where grubby keeps it (Fedora, RHEL and their kin; BIOS and
// UEFI). Where update-grub does, a file of its own says it: persistence.h.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

class KernelLineStep final : public Step {
 public:
  static constexpr auto kKind = "kernel-line";

  explicit KernelLineStep(std::string arguments) : arguments_(std::move(arguments)) {}
  explicit KernelLineStep(const Json& wanted) : KernelLineStep(text_of(wanted, "arguments")) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override {
    return "add \"" + arguments_ + "\" to the kernel's command line, by grubby";
  }
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}, {"arguments", arguments_}}; }
  [[nodiscard]] bool done(const Host& /*host*/) const override { return false; }
  [[nodiscard]] bool only_journal_knows() const override { return true; }
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;

 private:
  std::string arguments_;
};

}  // namespace tfabric::setup
