#include "config/rails.h"

#include <fmt/format.h>

#include "config/keys.h"
#include "config/nearest.h"
#include "config/value.h"

namespace tfabric::config {
void set_rail_key(Rail& rail, std::string_view key, std::string_view value, const std::string& where,
                  std::vector<std::string>& errors) {
  const RailKey* found = find_rail_key(key);
  if (found == nullptr) {
    errors.push_back(
        fmt::format("{}: a rail has no key `{}`{}", where, key, suggestion(key, rail_key_names())));
  } else if (!found->set(rail, value)) {
    errors.push_back(fmt::format("{}: `{}` is \"{}\", expected {}", where, key, value, found->expected));
  }
}

std::vector<Rail> parse_rails(std::string_view text, std::vector<std::string>& errors) {
  std::vector<Rail> rails;
  const std::string where = fmt::format("environment {}", kRailsVariable);
  while (!text.empty()) {
    std::string_view one = take_until(text, ';');
    if (trimmed(one).empty()) {
      continue;
    }
    Rail rail;
    set_rail_key(rail, "kind", trimmed(take_until(one, ':')), where, errors);
    while (!one.empty()) {
      std::string_view pair = take_until(one, ',');
      const std::string key = trimmed(take_until(pair, '='));
      set_rail_key(rail, key, trimmed(pair), where, errors);
    }
    rails.push_back(std::move(rail));
  }
  return rails;
}

}  // namespace tfabric::config
