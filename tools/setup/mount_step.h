// hugetlbfs, for programs that find hugepages by it. tfabric itself does without.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

class MountStep final : public Step {
 public:
  static constexpr auto kKind = "mount";

  MountStep() = default;
  explicit MountStep(const Json& /*wanted*/) {}

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override { return {{"kind", kKind}}; }
  // Wherever it is mounted.
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }
};

}  // namespace tfabric::setup
