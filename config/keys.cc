#include "config/keys.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/key_forms.h"

namespace tfabric::config {
namespace {

using form::Flag, form::FlagOrAuto, form::Number, form::NumberOrAuto, form::OneOf, form::Parsed, form::Text,
    form::WordList;

constexpr std::int64_t kKib = 1024, kMib = kKib * kKib;

std::string variable_of(std::string_view name) {
  std::string variable = "TFABRIC_";
  for (const char c : name) {
    variable += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

// Makes the keys of one section of the configuration, each from the member that holds its value.
template <class Section>
struct KeysOf {
  Section Config::*section;

  template <class Value, class Form>
  Key operator()(const char* name, Value Section::*member, Form form, const char* nccl_variable = "") const {
    const auto in = section;
    return {.name = name,
            .environment = variable_of(name),
            .expected = form.expected(),
            .set = [=](Config& config, std::string_view text) { return form.set(text, config.*in.*member); },
            .show = [=](const Config& config) { return form.show(config.*in.*member); },
            .nccl_variable = nccl_variable};
  }
};

// A key outside the sections.
template <class Value, class Form>
Key key(const char* name, Value Config::*member, Form form) {
  return {.name = name,
          .environment = variable_of(name),
          .expected = form.expected(),
          .set = [=](Config& config, std::string_view text) { return form.set(text, config.*member); },
          .show = [=](const Config& config) { return form.show(config.*member); },
          .nccl_variable = {}};
}

Number integer(std::int64_t low, std::int64_t high) {
  return {.what = "an integer", .low = low, .high = high};
}

Number size(std::int64_t low, std::int64_t high, std::int64_t multiple = 1) {
  return {.what = "a size", .low = low, .high = high, .multiple = multiple, .parse = parse_long_size};
}

Number milliseconds(std::int64_t low, std::int64_t high, const char* what = "milliseconds") {
  return {.what = what, .low = low, .high = high};
}
constexpr std::int64_t kHour = 3600000;

std::vector<Key> general_keys() {
  constexpr WordList<const char*, 5> kTransports{{{"auto", "auto"},
                                                  {"auto+kernel", "auto+kernel"},
                                                  {"tcp", "tcp"},
                                                  {"socket", "socket"},
                                                  {"rdma", "rdma"}}};
  return {
      key("transport", &Config::transport, OneOf{kTransports}),
      key("required", &Config::required, Flag{}),
      key("lock_folder", &Config::lock_folder,
          Parsed<LockFolder>{.what = "\"auto\" or an absolute path", .nothing = "auto"}),
  };
}

std::vector<Key> tcp_keys() {
  const KeysOf<Tcp> tcp{&Config::tcp};
  return {
      tcp("tcp.bond", &Tcp::bond, FlagOrAuto{}),
      tcp("rails.reserve", &Tcp::reserve, Flag{}),
      tcp("rails.lifeboat", &Tcp::lifeboat, Flag{}),
      tcp("tcp.probe", &Tcp::probe, Flag{}),
      tcp("tcp.rails_per_process", &Tcp::rails_per_process, form::RailCount{}),
      tcp("tcp.flows", &Tcp::flows, NumberOrAuto{1, 64}),
      tcp("tcp.max_flows", &Tcp::max_flows, integer(1, 64)),
      tcp("tcp.chunk_bytes", &Tcp::chunk_bytes, size(4 * kKib, 64 * kMib, /*multiple=*/128)),
      tcp("tcp.receive_buffer", &Tcp::receive_buffer, size(64 * kKib, 64 * kMib)),
      tcp("tcp.send_buffer", &Tcp::send_buffer, size(64 * kKib, 1024 * kMib)),
      tcp("tcp.min_rto_ms", &Tcp::min_rto, milliseconds(1, 1000)),
      tcp("tcp.user_timeout_ms", &Tcp::user_timeout, milliseconds(100, kHour)),
      tcp("tcp.connect_timeout_ms", &Tcp::connect_timeout, milliseconds(100, kHour)),
      tcp("tcp.keepalive_idle_ms", &Tcp::keepalive_idle, milliseconds(0, kHour, "milliseconds (0: off)")),
      tcp("tcp.witness", &Tcp::witness, Flag{}),
      tcp("tcp.frozen_timeout_ms", &Tcp::frozen_timeout, milliseconds(0, kHour)),
      tcp("tcp.port", &Tcp::port, Number{.what = "a TCP port (0: any)", .low = 0, .high = 65535}),
      tcp("tcp.local_ports", &Tcp::local_ports, form::Ports{}),
      tcp("tcp.max_recvs", &Tcp::max_recvs, integer(1, 8)),
      tcp("tcp.engines", &Tcp::engines, integer(1, 16)),
  };
}

std::vector<Key> process_keys() {
  constexpr WordList<Progress, 3> kProgress{
      {{"auto", Progress::automatic}, {"inline", Progress::inline_}, {"threaded", Progress::threaded}}};
  constexpr WordList<HugepageMode, 3> kHugepages{
      {{"auto", HugepageMode::automatic}, {"required", HugepageMode::required}, {"off", HugepageMode::off}}};
  const KeysOf<Engine> engine{&Config::engine};
  const KeysOf<Memory> memory{&Config::memory};
  const KeysOf<Observe> observe{&Config::observe};
  const KeysOf<FaultPermission> fault{&Config::fault};
  return {
      engine("engine.progress", &Engine::progress, OneOf{kProgress}),
      engine("engine.cpu", &Engine::cpu, Number{.what = "a CPU number (-1: any)", .low = -1, .high = 1023}),
      observe("observe.page", &Observe::page, Flag{}),
      observe("observe.hang_seconds", &Observe::hang_seconds,
              Number{.what = "seconds (0: off)", .low = 0, .high = 86400}),
      observe("observe.hang_warn_seconds", &Observe::hang_warn_seconds,
              Number{.what = "seconds", .low = 1, .high = 86400}),
      observe("observe.records", &Observe::records,
              Number{.what = "packets (0: none)", .low = 0, .high = 1024}),
      observe("observe.folder", &Observe::folder,
              Parsed<PageFolder>{.what = "\"auto\", \"none\" or an absolute path", .nothing = "auto"}),
      observe("observe.group", &Observe::group,
              Parsed<GroupName>{.what = "\"none\", or a group's name or number", .nothing = "none"}),
      observe("observe.dumps", &Observe::dumps, Number{.what = "dumps (0: none)", .low = 0, .high = 64}),
      observe("observe.dump_folder", &Observe::dump_folder,
              Parsed<DumpFolder>{.what = "\"auto\" or an absolute path", .nothing = "auto"}),
      fault("fault.allow", &FaultPermission::allow, Flag{}),
      memory("memory.hugepages", &Memory::hugepages, OneOf{kHugepages}),
      memory("memory.budget_mib", &Memory::budget_mib,
             Number{.what = "MiB (0: what the rails need)", .low = 0, .high = kMib}),
  };
}

constexpr WordList<AddressFamily, 5> kFamilies{{{"auto", AddressFamily::automatic},
                                                {"ipv4", AddressFamily::ipv4},
                                                {"ipv6", AddressFamily::ipv6},
                                                {"AF_INET", AddressFamily::ipv4},
                                                {"AF_INET6", AddressFamily::ipv6}}};

std::optional<HcaList> parse_excluded(std::string_view text) {
  auto list = HcaList::parse(text);
  return list && !list->negated() ? list : std::nullopt;
}

std::vector<Key> rdma_port_keys() {
  const KeysOf<Rdma> rdma{&Config::rdma};
  return {
      rdma("rdma.disable", &Rdma::disable, Flag{}, "NCCL_IB_DISABLE"),
      rdma("rdma.hca", &Rdma::hca,
           Parsed<HcaList>{.what = "\"all\" or a list like \"mlx5_0,mlx5_1:2\" (beginnings of names, each "
                                   "with a port if wanted; \"=\" before the list: whole names; \"^\": all "
                                   "but these)",
                           .nothing = "all"},
           "NCCL_IB_HCA"),
      rdma("rdma.exclude_hca", &Rdma::exclude_hca,
           Parsed<HcaList>{.what = "\"none\" or a list like \"mlx5_2,mlx5_3:1\" (\"=\" before the list: "
                                   "whole names)",
                           .nothing = "none",
                           .parse = parse_excluded}),
      rdma("rdma.gid_index", &Rdma::gid_index,
           Number{.what = "the index of a GID (-1: chosen)", .low = -1, .high = 65535}, "NCCL_IB_GID_INDEX"),
      rdma("rdma.roce_version", &Rdma::roce_version, NumberOrAuto{1, 2}, "NCCL_IB_ROCE_VERSION_NUM"),
      rdma("rdma.address_family", &Rdma::address_family, OneOf{kFamilies}, "NCCL_IB_ADDR_FAMILY"),
      rdma("rdma.address_range", &Rdma::address_range,
           Parsed<AddressRange>{.what = "\"any\" or a range like \"10.0.0.0/8\" or \"fd00::/8\"",
                                .nothing = "any"},
           "NCCL_IB_ADDR_RANGE"),
  };
}

// How two ranks meet.
std::vector<Key> rdma_bootstrap_keys() {
  const KeysOf<Rdma> rdma{&Config::rdma};
  return {
      rdma("rdma.bootstrap_interface", &Rdma::bootstrap_interface,
           Parsed<InterfaceList>{.what = "\"auto\" or a list like \"eth0,ib\" (beginnings of interfaces' "
                                         "names; \"=\" before the list: whole names; \"^\": all but these)",
                                 .nothing = "auto"},
           "NCCL_SOCKET_IFNAME"),
      rdma("rdma.bootstrap_family", &Rdma::bootstrap_family, OneOf{kFamilies}, "NCCL_SOCKET_FAMILY"),
      rdma("rdma.connect_timeout_ms", &Rdma::connect_timeout, milliseconds(100, kHour)),
  };
}

std::vector<Key> rdma_queue_pair_keys() {
  constexpr WordList<std::uint32_t, 6> kMtus{
      {{"auto", 0}, {"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};
  const KeysOf<Rdma> rdma{&Config::rdma};
  return {
      rdma("rdma.bond", &Rdma::bond, FlagOrAuto{}),
      rdma("rdma.qps", &Rdma::qps, integer(1, 128), "NCCL_IB_QPS_PER_CONNECTION"),
      rdma("rdma.split", &Rdma::split, Flag{}, "NCCL_IB_SPLIT_DATA_ON_QPS"),
      rdma("rdma.mtu", &Rdma::mtu, OneOf{kMtus}),
      rdma("rdma.traffic_class", &Rdma::traffic_class,
           Number{.what = "a traffic class (-1: the communicator's)", .low = -1, .high = 255}, "NCCL_IB_TC"),
      rdma("rdma.control_traffic_class", &Rdma::control_traffic_class,
           Number{.what = "a traffic class (-1: that of data)", .low = -1, .high = 255}, "NCCL_IB_FIFO_TC"),
      rdma("rdma.service_level", &Rdma::service_level,
           Number{.what = "a service level (-1: the communicator's traffic class)", .low = -1, .high = 15},
           "NCCL_IB_SL"),
      rdma("rdma.pkey", &Rdma::pkey, Number{.what = "the index of a P_Key", .low = 0, .high = 65535},
           "NCCL_IB_PKEY"),
      rdma("rdma.timeout", &Rdma::timeout,
           Number{.what = "an exponent (4.096 us * 2^n)", .low = 1, .high = 31}, "NCCL_IB_TIMEOUT"),
      rdma("rdma.retry_count", &Rdma::retry_count, integer(0, 7), "NCCL_IB_RETRY_CNT"),
      rdma("rdma.rnr_retry", &Rdma::rnr_retry,
           Number{.what = "an integer (7: without end)", .low = 0, .high = 7}),
      rdma("rdma.rnr_timer", &Rdma::rnr_timer,
           Number{.what = "a code of the IBA's table", .low = 0, .high = 31}),
  };
}

std::vector<Key> rdma_feature_keys() {
  // The numbers are the values of NCCL's variables.
  constexpr WordList<Switch, 5> kSwitches{{{"auto", Switch::automatic},
                                           {"off", Switch::off},
                                           {"on", Switch::on},
                                           {"0", Switch::off},
                                           {"1", Switch::on}}};
  constexpr WordList<Switch, 6> kOrderings{
      {kSwitches[0], kSwitches[1], kSwitches[2], kSwitches[3], kSwitches[4], {"2", Switch::automatic}}};
  constexpr WordList<DataDirect, 6> kDataDirect{{{"both", DataDirect::both},
                                                 {"off", DataDirect::off},
                                                 {"only", DataDirect::only},
                                                 {"0", DataDirect::off},
                                                 {"1", DataDirect::both},
                                                 {"2", DataDirect::only}}};
  const KeysOf<Rdma> rdma{&Config::rdma};
  return {
      rdma("rdma.adaptive_routing", &Rdma::adaptive_routing, OneOf{kSwitches}, "NCCL_IB_ADAPTIVE_ROUTING"),
      rdma("rdma.adaptive_routing_threshold", &Rdma::adaptive_routing_threshold, size(0, kKib * kMib),
           "NCCL_IB_AR_THRESHOLD"),
      rdma("rdma.relaxed_ordering", &Rdma::relaxed_ordering, OneOf{kOrderings},
           "NCCL_IB_PCI_RELAXED_ORDERING"),
      rdma("rdma.use_inline", &Rdma::use_inline, Flag{}, "NCCL_IB_USE_INLINE"),
      rdma("rdma.return_async_events", &Rdma::return_async_events, Flag{}, "NCCL_IB_RETURN_ASYNC_EVENTS"),
      rdma("rdma.gdr", &Rdma::gdr, OneOf{kSwitches}),
      rdma("rdma.data_direct", &Rdma::data_direct, OneOf{kDataDirect}, "NCCL_IB_DATA_DIRECT"),
      rdma("rdma.gdr_flush_disable", &Rdma::gdr_flush_disable, Flag{}, "NCCL_GDR_FLUSH_DISABLE"),
  };
}

constexpr auto kKinds = [] {
  WordList<RailKind, kRailKinds.size()> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = {kRailKinds[i].name, kRailKinds[i].kind};
  }
  return words;
}();
constexpr WordList<MemifRole, 2> kRoles{{{"client", MemifRole::client}, {"server", MemifRole::server}}};
constexpr WordList<CongestionControl, 3> kControls{{{"cubic", CongestionControl::cubic},
                                                    {"dctcp", CongestionControl::dctcp},
                                                    {"bottleneck", CongestionControl::bottleneck}}};

template <class Value, class Form>
RailKey rail(const char* name, Value Rail::*member, Form form, bool list = false) {
  return {.name = name,
          .expected = form.expected(),
          .set = [=](Rail& rail, std::string_view text) { return form.set(text, rail.*member); },
          .show = [=](const Rail& rail) { return form.show(rail.*member); },
          .list = list};
}

// A number without K, M or G.
Number plain(std::int64_t low, std::int64_t high) {
  return {.what = "an integer", .low = low, .high = high, .parse = parse_integer};
}

std::vector<RailKey> make_rail_keys() {
  return {
      rail("name", &Rail::name, Text{"a name"}),
      rail("kind", &Rail::kind, OneOf{kKinds}),
      rail("device", &Rail::device, Text{"a PCI address, an interface or a socket's path"}),
      rail("arguments", &Rail::arguments, form::DeviceArguments{}),
      rail("role", &Rail::role, OneOf{kRoles}),
      rail("addresses", &Rail::addresses, form::Addresses{}, /*list=*/true),
      rail("gateway", &Rail::gateway, Text{"an IPv4 address"}),
      rail("gateway6", &Rail::gateway6, Text{"an IPv6 address"}),
      rail("mtu", &Rail::mtu,
           Number{.what = "bytes without a suffix,", .low = 0, .high = 65535, .parse = parse_integer}),
      rail("speed_mbps", &Rail::speed_mbps, plain(0, 1600000)),
      rail("numa_node", &Rail::numa_node, plain(-1, 1023)),
      rail("vlan", &Rail::vlan, plain(0, 4094)),
      rail("queues", &Rail::queues, form::Queues{}),
      rail("congestion_control", &Rail::congestion_control, OneOf{kControls}),
      rail("ecn", &Rail::ecn, Flag{}),
      rail("pacing", &Rail::pacing, Flag{}),
      rail("receive_window", &Rail::receive_window, size(64 * kKib, 1024 * kMib)),
      rail("receive_memory", &Rail::receive_memory, size(kMib, kMib * kMib)),
      rail("tso", &Rail::tso, Flag{}),
  };
}

}  // namespace

// Neither table is ever destroyed: the library has no destructors that run at process exit.
std::span<const Key> keys() {
  static const auto* table = [] {
    auto* all = new std::vector<Key>;
    for (const auto section : {general_keys, tcp_keys, process_keys, rdma_port_keys, rdma_bootstrap_keys,
                               rdma_queue_pair_keys, rdma_feature_keys}) {
      const std::vector<Key> part = section();
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  return *table;
}

std::span<const RailKey> rail_keys() {
  static const auto* table = new std::vector<RailKey>(make_rail_keys());
  return *table;
}

std::string_view to_string(RailKind kind) { return row_of(kind).name; }
std::string_view to_string(MemifRole role) { return kRoles[static_cast<std::size_t>(role)].first; }
std::string_view to_string(CongestionControl control) {
  return kControls[static_cast<std::size_t>(control)].first;
}

}  // namespace tfabric::config
