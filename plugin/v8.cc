#include "plugin/abi/net_v8.h"
#include "plugin/shims.h"

namespace tfabric::plugin {
namespace {

abi::Result get_properties(int dev, abi::PropertiesV8* out) {
  const transport::DeviceProperties* from = nullptr;
  if (const abi::Result result = fill_common(dev, out, &from); result != abi::Result::success) {
    return result;
  }
  fill_device_type(out);
  out->regIsGlobal = from->registration_is_global ? 1 : 0;
  return abi::Result::success;
}

constexpr abi::NetV8 make_table() {
  abi::NetV8 net{};
  set_common(net);
  net.getProperties = get_properties;
  net.init = init;
  net.listen = listen;
  net.connect = connect_dev;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_sized<int>;
  net.irecv = irecv_sized<int>;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

TFABRIC_EXPORT_TABLE(8, tfabric::plugin::make_table)
