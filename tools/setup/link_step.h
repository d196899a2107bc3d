// A symbolic link, as those by which systemd knows what it starts.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

class LinkStep final : public Step {
 public:
  static constexpr auto kKind = "link";

  LinkStep(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}
  explicit LinkStep(const Json& wanted) : LinkStep(text_of(wanted, "path"), text_of(wanted, "target")) {}

  [[nodiscard]] std::string id() const override { return "link " + path_; }
  [[nodiscard]] std::string describe() const override { return "link " + path_ + " to " + target_; }
  [[nodiscard]] Json wanted() const override {
    return {{"kind", kKind}, {"path", path_}, {"target", target_}};
  }
  [[nodiscard]] bool done(const Host& host) const override { return host.read_link(path_) == target_; }
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;

 private:
  std::string path_, target_;
};

}  // namespace tfabric::setup
