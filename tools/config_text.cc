#include "tools/config_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tfabric::tools {
namespace {

using Entry = config::Config::Entry;

bool is_default(const Entry& entry) { return entry.origin == "default"; }

// 0 stands for what the interface, the driver or the kind of rail has; the devices show what that is.
std::string value_of(const Entry& entry) {
  const bool chosen = entry.key.starts_with("tcp.rails.") && entry.value == "0" &&
                      (entry.key.ends_with(".mtu") || entry.key.ends_with(".speed_mbps"));
  return chosen ? "auto" : entry.value;
}

}  // namespace

std::string config_text(const config::Config& config, bool all) {
  std::vector<const Entry*> shown, rest;
  for (const Entry& entry : config.entries) {
    (is_default(entry) ? rest : shown).push_back(&entry);
  }
  const std::size_t hidden = all ? 0 : rest.size();
  if (all) {
    shown.insert(shown.end(), rest.begin(), rest.end());
  }
  std::size_t key_width = 0, value_width = 0;
  for (const Entry* entry : shown) {
    key_width = std::max(key_width, entry->key.size());
    value_width = std::max(value_width, value_of(*entry).size());
  }
  std::string text =
      fmt::format("Configuration ({}):\n", config.file.empty() ? "no file found" : config.file);
  for (const Entry* entry : shown) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", entry->key, key_width, value_of(*entry), value_width,
                        entry->origin);
  }
  if (hidden > 0) {
    text += fmt::format("  {} key(s) that have their default are not shown: `tfabric info --all`\n", hidden);
  }
  return text;
}

}  // namespace tfabric::tools
