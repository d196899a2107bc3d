// The version of this build, after its release or commit; cmake/version.cmake writes the definition.
//
// Link tfabric_version only where it is shown: each commit changes it, and all that links it is linked anew.
#pragma once

namespace tfabric {

[[nodiscard]] const char* version();

}  // namespace tfabric
