#include "host/netlink.h"

#include <linux/rtnetlink.h>

namespace tfabric::host::netlink {

Bytes find(Bytes attributes, unsigned short type) {
  while (attributes.size() >= sizeof(rtattr)) {
    const auto attribute = read<rtattr>(attributes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) {
      break;
    }
    if ((attribute.rta_type & NLA_TYPE_MASK) == type) {
      return attributes.first(attribute.rta_len).subspan(RTA_LENGTH(0));
    }
    attributes = attributes.subspan(std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
  }
  return {};
}

}  // namespace tfabric::host::netlink
