#include "tools/setup/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tfabric::setup {
namespace {

constexpr auto kFolder = "/var/lib/tfabric";
constexpr int kVersion = 1;
constexpr std::array<const char*, 3> kStates{"begun", "done", "undoing"};

Error unreadable(const std::string& why) {
  return {
      Errc::unusable,
      fmt::format(
          "the journal {} {}: it records how this host was before setup, so it is not overwritten; move it "
          "away if you know that state from elsewhere",
          Journal::kPath, why)};
}

}  // namespace

const std::string Journal::kPath = "/var/lib/tfabric/setup.json";

Result<Journal> Journal::load(const Host& host) {
  if (!host.exists(kPath)) {
    return Journal();
  }
  const auto text = host.read(kPath);
  return text ? parse(*text) : unreadable("cannot be read");
}

Result<Journal> Journal::parse(const std::string& text) {
  Journal journal;
  const auto json = parse_json(text);
  if (!json || !part_of(*json, "steps").is_array()) {
    return unreadable("is not a journal of tfabric setup");
  }
  if (number_of(*json, "version") != kVersion) {
    return unreadable(
        fmt::format("was written by another version of tfabric (expected format {})", kVersion));
  }
  for (const Json& step : array_of(*json, "steps")) {
    const auto state = std::find(kStates.begin(), kStates.end(), text_of(step, "state"));
    if (state == kStates.end() || text_of(step, "id").empty()) {
      return unreadable("has a malformed step");
    }
    journal.entries_.push_back({.id = text_of(step, "id"),
                                .state = static_cast<JournalEntry::State>(state - kStates.begin()),
                                .wanted = part_of(step, "wanted"),
                                .before = part_of(step, "before")});
  }
  return journal;
}

const JournalEntry* Journal::find(const std::string& id) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

Status Journal::put(Host& host, const JournalEntry& entry) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& other) { return other.id == entry.id; });
  if (found == entries_.end()) {
    entries_.push_back(entry);
  } else {
    *found = entry;
  }
  return save(host);
}

Status Journal::drop(Host& host, const std::string& id) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.id == id; });
  if (!entries_.empty()) {
    return save(host);
  }
  if (Status status = host.remove(kPath); !status) {
    return status;
  }
  return clean(host);
}

Status Journal::clean(Host& host) {
  if (Status status = host.remove(kPath + ".tfabric-new"); !status) {
    return status;
  }
  return host.remove_if_empty(kFolder);
}

Status Journal::save(Host& host) const {
  Json json{{"version", kVersion}, {"steps", Json::array()}};
  for (const JournalEntry& entry : entries_) {
    json["steps"].push_back({{"id", entry.id},
                             {"state", kStates[static_cast<std::size_t>(entry.state)]},
                             {"wanted", entry.wanted},
                             {"before", entry.before}});
  }
  if (Status status = host.make_folder(kFolder); !status) {
    return status;
  }
  return host.write_file(kPath, to_text(json, 2) + "\n");
}

Result<Lock> Lock::take(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    return Error{Errc::system, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{Errc::system, "another `tfabric setup` runs on this host: wait for its end"};
  }
  return Lock(std::move(file));
}

}  // namespace tfabric::setup
