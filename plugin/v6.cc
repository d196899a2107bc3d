#include "plugin/abi/net_v6.h"
#include "plugin/shims.h"

namespace tfabric::plugin {
namespace {

abi::Result get_properties(int dev, abi::PropertiesV6* out) {
  const transport::DeviceProperties* from = nullptr;
  return fill_common(dev, out, &from);
}

constexpr abi::NetV6 make_table() {
  abi::NetV6 net{};
  set_common(net);
  net.getProperties = get_properties;
  net.init = init;
  net.listen = listen;
  net.connect = connect_plain;
  net.accept = accept;
  net.regMr = register_sized<int>;
  net.isend = isend_sized<int>;
  net.irecv = irecv_sized<int>;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

TFABRIC_EXPORT_TABLE(6, tfabric::plugin::make_table)
