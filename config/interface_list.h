// Lists of network interfaces as NCCL_SOCKET_IFNAME has them: [^][=]name[,…].
//
// A name is a prefix ("eth" means eth0 and eth1), with '=' in front of the list the whole name; '^' means all
// interfaces but these. No entry means every interface. Immutable values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/hca_list.h"

namespace tfabric::config {

class InterfaceList {
 public:
  // Empty if `text` is not of this form.
  [[nodiscard]] static std::optional<InterfaceList> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return list_.text(); }
  [[nodiscard]] bool names_any() const { return !list_.text().empty(); }
  [[nodiscard]] bool selects(std::string_view interface) const;

 private:
  HcaList list_;  // the same form, without ports
};

}  // namespace tfabric::config
