#include "config/interface_list.h"

#include <utility>

namespace tfabric::config {

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
  constexpr std::uint32_t kAnyPort = 1;  // entries name none
  return list_.selects(interface, kAnyPort);
}

}  // namespace tfabric::config
