#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "config/keys.h"

namespace tfabric::config {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// The Levenshtein distance without regard to case, computed row by row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// What people call a key who know the thing by another name.
std::string by_another_name(std::string_view word, std::span<const std::string> known) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames{{{"interface", "device"},
                                                                                 {"iface", "device"},
                                                                                 {"netdev", "device"},
                                                                                 {"nic", "device"},
                                                                                 {"pci", "device"},
                                                                                 {"ip", "addresses"}}};
  for (const auto& [name, key] : kNames) {
    if (word == name && std::find(known.begin(), known.end(), key) != known.end()) {
      return std::string(key);
    }
  }
  return {};
}

}  // namespace

const RailKey* find_rail_key(std::string_view name) {
  const auto all = rail_keys();
  const auto found = std::find_if(all.begin(), all.end(), [&](const RailKey& k) { return k.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    names.push_back(key.name);
  }
  return names;
}

std::vector<std::string> rail_key_names() {
  std::vector<std::string> names;
  for (const RailKey& key : rail_keys()) {
    names.push_back(key.name);
  }
  return names;
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names{kFileVariable, kRailsVariable, kFaultVariable};
  for (const Key& key : keys()) {
    names.push_back(key.environment);
  }
  return names;
}

std::string why_gone(std::string_view name) {
  constexpr std::array<std::string_view, 2> kConnection{"rdma.connection", "TFABRIC_RDMA_CONNECTION"};
  return std::find(kConnection.begin(), kConnection.end(), name) == kConnection.end()
             ? std::string()
             : "is no key any more: queue pairs are always connected by an exchange of the two ranks over "
               "TCP, as by NCCL's own network, and no longer by rdma_cm; remove it";
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  // The beginning of a name, such as "numa" for "numa_node".
  const auto continues = [&](const std::string& candidate) {
    return candidate.size() > word.size() && candidate[word.size()] == '_' &&
           distance(word, std::string_view(candidate).substr(0, word.size())) == 0;
  };
  if (const auto longer = std::find_if(known.begin(), known.end(), continues); longer != known.end()) {
    return *longer;
  }
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (const std::size_t d = distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string other = by_another_name(word, known);
  const std::string best = other.empty() ? nearest(word, known) : other;
  return best.empty() ? std::string() : ", did you mean `" + best + "`?";
}

}  // namespace tfabric::config
