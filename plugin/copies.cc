#include "plugin/copies.h"

#include <link.h>

#include <atomic>
#include <vector>

#include "plugin/loaded_object.h"

// Found by name in other copies. Its values are those of State.
extern "C" __attribute__((visibility("default"))) std::atomic<int> tfabric_copy_state;
std::atomic<int> tfabric_copy_state{0};

namespace tfabric::plugin {
namespace {

enum State : int { idle, starting, in_use };

// The paths of all shared objects of the process. The loader holds a lock while it lists them, so nothing is
// looked up meanwhile.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* to) {
    if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') {
      static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
    }
    return 0;
  };
  dl_iterate_phdr(collect, &paths);
  return paths;
}

// Returns true if the copy with this state has the process. Of two that start at the same time, the lower
// address has it.
bool has_process(const std::atomic<int>& other) {
  const int state = other.load();
  return state == in_use || (state == starting && &other < &tfabric_copy_state);
}

}  // namespace

std::string claim_process() {
  tfabric_copy_state.store(starting);
  for (const std::string& path : loaded_objects()) {
    const LoadedObject object(path.c_str());
    const auto* other = static_cast<const std::atomic<int>*>(object.symbol("tfabric_copy_state"));
    if (other != nullptr && other != &tfabric_copy_state && has_process(*other)) {
      tfabric_copy_state.store(idle);
      return path;
    }
  }
  tfabric_copy_state.store(in_use);
  return {};
}

void release_process() { tfabric_copy_state.store(idle); }

}  // namespace tfabric::plugin
