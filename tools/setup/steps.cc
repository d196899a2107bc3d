#include "tools/setup/steps.h"

#include <fmt/format.h>

namespace tfabric::setup {

Result<StepPtr> make_step(const Json& wanted) {
  const std::string kind = text_of(wanted, "kind");
  if (kind == HugepageStep::kKind) {
    return StepPtr(std::make_unique<HugepageStep>(wanted));
  }
  if (kind == MountStep::kKind) {
    return StepPtr(std::make_unique<MountStep>(wanted));
  }
  if (kind == ModuleStep::kKind) {
    return StepPtr(std::make_unique<ModuleStep>(wanted));
  }
  if (kind == FileStep::kKind) {
    return StepPtr(std::make_unique<FileStep>(wanted));
  }
  if (kind == LinkStep::kKind) {
    return StepPtr(std::make_unique<LinkStep>(wanted));
  }
  if (kind == ProgramStep::kKind) {
    return StepPtr(std::make_unique<ProgramStep>(wanted));
  }
  if (kind == BindStep::kKind) {
    return StepPtr(std::make_unique<BindStep>(wanted));
  }
  if (kind == AccessStep::kKind) {
    return StepPtr(std::make_unique<AccessStep>(wanted));
  }
  if (kind == KernelLineStep::kKind) {
    return StepPtr(std::make_unique<KernelLineStep>(wanted));
  }
  if (kind == PageFolderStep::kKind) {
    return StepPtr(std::make_unique<PageFolderStep>(wanted));
  }
  return Error{
      Errc::unusable,
      fmt::format("the journal has a step of kind \"{}\", which this version of tfabric does not know: "
                  "use the version that wrote it",
                  kind)};
}

}  // namespace tfabric::setup
