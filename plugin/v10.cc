#include "plugin/abi/net_v10.h"
#include "plugin/shims.h"

namespace tfabric::plugin {
namespace {

abi::Result get_properties(int dev, abi::PropertiesV10* out) {
  const transport::DeviceProperties* from = nullptr;
  if (const abi::Result result = fill_common(dev, out, &from); result != abi::Result::success) {
    return result;
  }
  fill_v9(dev, out, *from);
  return abi::Result::success;
}

constexpr abi::NetV10 make_table() {
  abi::NetV10 net{};
  set_common(net);
  net.getProperties = get_properties;
  net.init = init_profiled;
  net.listen = listen;
  net.connect = connect_config;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_profiled;
  net.irecv = irecv_profiled;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

TFABRIC_EXPORT_TABLE(10, tfabric::plugin::make_table)
