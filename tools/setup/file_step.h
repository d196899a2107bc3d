// A file that setup writes. What was in its place is kept beside it, and comes back when the step is undone.
#pragma once

#include "tools/setup/step.h"

namespace tfabric::setup {

// A program to run once the file is there, or is gone, so that whom it is for reads it.
struct Reload {
  std::vector<std::string> words;  // none: nobody is told
  std::string service;             // only if this unit of systemd's runs
  std::string path;                // only if this is there
};

class FileStep final : public Step {
 public:
  static constexpr auto kKind = "file";
  static constexpr auto kKept = ".before-tfabric-setup";  // of the file that was there
  static constexpr auto kEdited = ".edited";              // of ours, if it was changed since and is undone

  FileStep(std::string path, std::string text, Reload reload = {})
      : path_(std::move(path)), text_(std::move(text)), reload_(std::move(reload)) {}
  explicit FileStep(const Json& wanted);

  [[nodiscard]] std::string id() const override { return "file " + path_; }
  [[nodiscard]] std::string describe() const override { return "write " + path_; }
  [[nodiscard]] Json wanted() const override;
  [[nodiscard]] bool done(const Host& host) const override { return host.read(path_) == text_; }
  Result<Json> state_before(Host& host) const override;
  Status apply(Host& host, const Json& before) const override;
  Status undo(Host& host, const Json& before) const override;
  // Those for services are for network managers.
  [[nodiscard]] bool touches_network() const override { return !reload_.service.empty(); }

 private:
  Status reload(Host& host) const;

  std::string path_, text_;
  Reload reload_;
};

}  // namespace tfabric::setup
