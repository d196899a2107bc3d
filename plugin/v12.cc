#include "plugin/abi/net_v12.h"
#include "plugin/shims.h"

namespace tfabric::plugin {
namespace {

abi::Result get_properties(int dev, abi::PropertiesV12* out) {
  const transport::DeviceProperties* from = nullptr;
  if (const abi::Result result = fill_common(dev, out, &from); result != abi::Result::success) {
    return result;
  }
  fill_v9(dev, out, *from);
  out->maxMultiRequestSize = 1;
  out->railId = static_cast<std::int16_t>(from->rail_id);
  out->planeId = static_cast<std::int16_t>(from->plane_id);
  return abi::Result::success;
}

constexpr abi::NetV12 make_table() {
  abi::NetV12 net{};
  set_common(net);
  net.getProperties = get_properties;
  net.init = init_context;
  net.listen = listen_context;
  net.connect = connect_context;
  net.accept = accept_dev;
  net.regMr = register_sized<std::size_t>;
  net.isend = isend_profiled;
  net.irecv = irecv_profiled;
  net.finalize = finalize_context;
  return net;
}

}  // namespace
}  // namespace tfabric::plugin

TFABRIC_EXPORT_TABLE(12, tfabric::plugin::make_table)
