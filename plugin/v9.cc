#include "plugin/abi/net_v9.h"
#include "plugin/shims.h"

namespace tfabric::plugin {
namespace {

abi::Result get_properties(int dev, abi::PropertiesV9* out) {
  const transport::DeviceProperties* from = nullptr;
  if (const abi::Result result = fill_common(dev, out, &from); result != abi::Result::success) {
    return result;
  }
  fill_v9(dev, out, *from);
  return abi::Result::success;
}

constexpr abi::NetV9 make_table() {
  abi::NetV9 net{};
  set_common(net);
  net.getProperties = get_properties;
  net.init = init;
  net.listen = listen;
  net.connect = connect_dev;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_sized<std::size_t>;
  net.irecv = irecv_sized<std::size_t>;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

TFABRIC_EXPORT_TABLE(9, tfabric::plugin::make_table)
