#include "transport/witness/siblings.h"

#include <algorithm>

namespace tfabric::witness {

Siblings::Watcher* Siblings::find(std::uint64_t connection, std::uint64_t process) {
  const auto sibling = siblings_.find(process);
  if (sibling == siblings_.end()) {
    return nullptr;
  }
  std::vector<Watcher>& watchers = sibling->second.watchers;
  const auto watcher = std::find_if(watchers.begin(), watchers.end(),
                                    [&](const Watcher& each) { return each.connection == connection; });
  return watcher == watchers.end() ? nullptr : &*watcher;
}

bool Siblings::watch(std::uint64_t connection, std::uint64_t process) {
  if (inquire(connection, process)) {
    return true;
  }
  if (!contains(process) && !make_room()) {
    return false;
  }
  siblings_[process].watchers.push_back({.connection = connection, .reported = {}});
  return true;
}

bool Siblings::make_room() {
  if (siblings_.size() < kMaxProcesses) {
    return true;
  }
  const auto over = std::find_if(siblings_.begin(), siblings_.end(), [](const auto& each) {
    const Sibling& sibling = each.second;
    return (sibling.finding == Finding::ended || sibling.finding == Finding::absent) &&
           std::all_of(sibling.watchers.begin(), sibling.watchers.end(),
                       [&](const Watcher& watcher) { return watcher.reported == sibling.finding; });
  });
  if (over == siblings_.end()) {
    return false;
  }
  siblings_.erase(over);
  return true;
}

bool Siblings::inquire(std::uint64_t connection, std::uint64_t process) {
  Watcher* watcher = find(connection, process);
  if (watcher == nullptr) {
    return false;
  }
  watcher->reported.reset();
  siblings_[process].next = 0;
  return true;
}

void Siblings::close(std::uint64_t connection) {
  for (auto i = siblings_.begin(); i != siblings_.end();) {
    Sibling& sibling = i->second;
    std::erase_if(sibling.watchers, [&](const Watcher& each) { return each.connection == connection; });
    sibling.next = 0;
    i = sibling.watchers.empty() ? siblings_.erase(i) : std::next(i);
  }
}

bool Siblings::serves(std::uint64_t connection) const {
  return std::any_of(siblings_.begin(), siblings_.end(), [&](const auto& sibling) {
    const std::vector<Watcher>& watchers = sibling.second.watchers;
    return std::any_of(watchers.begin(), watchers.end(),
                       [&](const Watcher& each) { return each.connection == connection; });
  });
}

void Siblings::set(std::uint64_t process, std::optional<Finding> finding) {
  const auto sibling = siblings_.find(process);
  if (sibling != siblings_.end() && sibling->second.finding != finding) {
    sibling->second.finding = finding;
    sibling->second.next = 0;
  }
}

std::optional<Siblings::Report> Siblings::next() {
  for (auto& [process, sibling] : siblings_) {
    while (sibling.finding && sibling.next < sibling.watchers.size()) {
      Watcher& watcher = sibling.watchers[sibling.next++];
      if (watcher.reported != sibling.finding) {
        watcher.reported = sibling.finding;
        return Report{watcher.connection, process, *sibling.finding};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tfabric::witness
