#include "config/nccl_lists.h"

#include <algorithm>
#include <utility>

#include "config/value.h"

namespace tfabric::config {
namespace {

// The kernel's device names have at most 63 characters (IB_DEVICE_NAME_MAX without the NUL).
bool is_hca_name(std::string_view text) {
  constexpr std::size_t kMaxName = 63;
  constexpr std::string_view kForbidden = "^=,:/";
  return text.size() <= kMaxName && std::all_of(text.begin(), text.end(), [&](char c) {
           return c > ' ' && c < 0x7f && kForbidden.find(c) == std::string_view::npos;
         });
}

// Returns `otherwise` for an empty field, and nothing if it is not a number in [low, high].
std::optional<std::int64_t> parse_field(std::string_view field, std::int64_t low, std::int64_t high,
                                        std::int64_t otherwise) {
  if (field.empty()) {
    return otherwise;
  }
  const auto value = parse_integer(field);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

std::optional<HcaPattern> parse_pattern(std::string_view text) {
  constexpr std::int64_t kMaxPort = 255;  // verbs has 8 bits for a port number
  constexpr std::int64_t kMaxId = 32767;  // NCCL's table has a signed 16-bit field each for rail and plane
  HcaPattern pattern{.name = std::string(take_until(text, ':'))};
  const auto port = parse_field(take_until(text, ':'), 1, kMaxPort, 0);
  const auto rail = parse_field(take_until(text, ':'), 0, kMaxId, -1);
  const auto plane = parse_field(take_until(text, ':'), 0, kMaxId, -1);
  if (!is_hca_name(pattern.name) || !port || !rail || !plane || !text.empty()) {
    return std::nullopt;
  }
  pattern.port = static_cast<std::uint32_t>(*port);
  pattern.rail_id = static_cast<std::int16_t>(*rail);
  pattern.plane_id = static_cast<std::int16_t>(*plane);
  return pattern;
}

}  // namespace

std::optional<HcaList> HcaList::parse(std::string_view text) {
  HcaList list;
  list.text_ = trimmed(text);
  std::string_view rest = list.text_;
  list.negated_ = rest.starts_with('^');
  rest.remove_prefix(list.negated_ ? 1 : 0);
  list.exact_ = rest.starts_with('=');
  rest.remove_prefix(list.exact_ ? 1 : 0);
  while (!rest.empty()) {
    const std::string entry = trimmed(take_until(rest, ','));
    if (entry.empty()) {
      continue;
    }
    const auto pattern = parse_pattern(entry);
    if (!pattern) {
      return std::nullopt;
    }
    list.patterns_.push_back(*pattern);
  }
  return list;
}

bool HcaList::fits(const HcaPattern& pattern, std::string_view hca) const {
  return pattern.name.empty() || (exact_ ? hca == pattern.name : hca.starts_with(pattern.name));
}

const HcaPattern* HcaList::find(std::string_view hca, std::uint32_t port) const {
  const auto found = std::find_if(patterns_.begin(), patterns_.end(), [&](const HcaPattern& pattern) {
    return fits(pattern, hca) && (pattern.port == 0 || pattern.port == port);
  });
  return found == patterns_.end() ? nullptr : &*found;
}

bool HcaList::names_all_of(std::string_view hca) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const HcaPattern& pattern) { return fits(pattern, hca) && pattern.port == 0; });
}

bool HcaList::selects(std::string_view hca, std::uint32_t port) const {
  return patterns_.empty() || (find(hca, port) != nullptr) != negated_;
}

bool HcaList::may_select(std::string_view hca) const {
  if (patterns_.empty()) {
    return true;
  }
  return negated_ ? !names_all_of(hca)
                  : std::any_of(patterns_.begin(), patterns_.end(),
                                [&](const HcaPattern& pattern) { return fits(pattern, hca); });
}

std::optional<InterfaceList> InterfaceList::parse(std::string_view text) {
  std::optional<HcaList> list = HcaList::parse(text);
  if (!list || text.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  InterfaceList interfaces;
  interfaces.list_ = std::move(*list);
  return interfaces;
}

bool InterfaceList::selects(std::string_view interface) const {
  constexpr std::uint32_t kAnyPort = 1;  // the entries name no port
  return list_.selects(interface, kAnyPort);
}

}  // namespace tfabric::config
