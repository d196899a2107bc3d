// Hugepages, reserved at run time: of 1 GiB where the kernel still finds such pieces, else of 2 MiB.
#pragma once

#include <cstdint>

#include "tools/setup/step.h"

namespace tfabric::setup {

class HugepageStep final : public Step {
 public:
  static constexpr auto kKind = "hugepages";

  // Numbers of all pages of the host afterwards. `large` 0: pages of 1 GiB are not tried.
  HugepageStep(std::uint64_t large, std::uint64_t small, std::uint64_t need_mib);
  explicit HugepageStep(const Json& wanted);

  [[nodiscard]] std::string id() const override { return kKind; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Json wanted() const override;
  [[nodiscard]] bool done(const Host& host) const override;
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  [[nodiscard]] bool again_at_boot() const override { return true; }
  [[nodiscard]] std::uint64_t large() const { return large_; }
  [[nodiscard]] std::uint64_t small() const { return small_; }
  // What was asked for.
  [[nodiscard]] std::uint64_t need_mib() const { return need_mib_; }

 private:
  std::uint64_t large_, small_, need_mib_;
};

}  // namespace tfabric::setup
