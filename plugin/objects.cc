#include "plugin/objects.h"

#include <mutex>
#include <unordered_map>

namespace tfabric::plugin {
namespace {

struct List {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Object>> objects;  // guarded by mutex
};

// Never destroyed: at process exit other threads may still be in a call.
List& list() {
  static auto* instance = new List;
  return *instance;
}

std::unique_ptr<Object> take(const void* pointer, Kind kind) {
  const std::lock_guard guard(list().mutex);
  const auto found = list().objects.find(pointer);
  if (found == list().objects.end() || found->second->kind != kind) {
    return nullptr;
  }
  std::unique_ptr<Object> object = std::move(found->second);
  list().objects.erase(found);
  return object;
}

}  // namespace

void keep(std::unique_ptr<Object> object) {
  const std::lock_guard guard(list().mutex);
  const void* key = object.get();
  list().objects.emplace(key, std::move(object));
}

bool is_live(const void* pointer, Kind kind) {
  const std::lock_guard guard(list().mutex);
  const auto found = list().objects.find(pointer);
  return found != list().objects.end() && found->second->kind == kind;
}

// The object is destroyed after the list's lock is released, because closing a comm waits for its engine.
bool destroy(const void* pointer, Kind kind) { return take(pointer, kind) != nullptr; }

std::size_t destroy_all() {
  std::unordered_map<const void*, std::unique_ptr<Object>> all;
  {
    const std::lock_guard guard(list().mutex);
    all.swap(list().objects);
  }
  return all.size();
}

}  // namespace tfabric::plugin
