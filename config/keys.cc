#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "config/value.h"

namespace tfabric::config {
namespace {

std::string variable_of(std::string_view name) {
  std::string variable = "TFABRIC_";
  for (const char c : name) {
    variable += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

// A key whose value is a number in [low, high]; `field` gives a reference to it.
template <class Field>
Key number(const std::string& name, const std::string& unit, std::int64_t low, std::int64_t high,
           std::int64_t multiple, Field field) {
  using Value = std::remove_reference_t<std::invoke_result_t<Field, Config&>>;
  std::string expected = fmt::format("{} from {} to {}", unit, low, high);
  if (multiple > 1) {
    expected += fmt::format(", a multiple of {}", multiple);
  }
  return {.name = name,
          .environment = variable_of(name),
          .expected = expected,
          .set =
              [=](Config& config, std::string_view text) {
                const auto value = parse_size(text);
                if (!value || *value < low || *value > high || *value % multiple != 0) {
                  return false;
                }
                if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
                  field(config) = Value(*value);
                } else {
                  field(config) = static_cast<Value>(*value);
                }
                return true;
              },
          .show =
              [=](const Config& config) {
                auto& value = field(const_cast<Config&>(config));
                if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
                  return std::to_string(value.count());
                } else {
                  return std::to_string(value);
                }
              }};
}

// The same, or the word "auto", which is the number 0.
template <class Field>
Key number_or_auto(const std::string& name, std::int64_t low, std::int64_t high, Field field) {
  const Key number_key = number(name, "an integer", low, high, 1, field);
  Key key = number_key;
  key.expected = "\"auto\" or " + number_key.expected;
  key.set = [=](Config& config, std::string_view text) {
    if (text == "auto") {
      field(config) = 0;
      return true;
    }
    return number_key.set(config, text);
  };
  key.show = [=](const Config& config) {
    return field(const_cast<Config&>(config)) == 0 ? "auto" : number_key.show(config);
  };
  return key;
}

// Words and what they stand for, as in {{"client", MemifRole::client}, …}.
template <class Words>
std::string one_of(const Words& words) {
  std::string expected = "one of";
  for (const auto& [word, value] : words) {
    expected += fmt::format(" \"{}\"", word);
  }
  return expected;
}
// False: `text` is none of the words.
template <class Words, class Value>
bool set_by_word(const Words& words, std::string_view text, Value& out) {
  for (const auto& [word, value] : words) {
    if (text == word) {
      out = value;
      return true;
    }
  }
  return false;
}

// A key whose value is one of a few words.
template <class Value, std::size_t kCount, class Field>
Key choice(const std::string& name, const std::array<std::pair<const char*, Value>, kCount>& words,
           Field field) {
  return {
      .name = name,
      .environment = variable_of(name),
      .expected = one_of(words),
      .set = [=](Config& config, std::string_view text) { return set_by_word(words, text, field(config)); },
      .show =
          [=](const Config& config) {
            for (const auto& [word, value] : words) {
              if (field(const_cast<Config&>(config)) == value) {
                return std::string(word);
              }
            }
            return std::string();
          }};
}

// False: `text` is neither.
bool set_flag(std::string_view text, bool& out) {
  const auto value = parse_bool(text);
  out = value.value_or(out);
  return value.has_value();
}

template <class Field>
Key flag(const std::string& name, Field field) {
  return {
      .name = name,
      .environment = variable_of(name),
      .expected = "true or false",
      .set = [=](Config& config, std::string_view text) { return set_flag(text, field(config)); },
      .show = [=](const Config& config) { return field(const_cast<Config&>(config)) ? "true" : "false"; }};
}

// A key like "49152-65535".
template <class Field>
Key port_range(const std::string& name, Field field) {
  return {.name = name,
          .environment = variable_of(name),
          .expected =
              fmt::format("a range of at least {} TCP ports like 49152-65535, from 1024 on", kFewestPorts),
          .set =
              [=](Config& config, std::string_view text) {
                const std::size_t dash = std::min(text.find('-'), text.size());
                const auto first = parse_integer(trimmed(text.substr(0, dash)));
                const auto last = parse_integer(trimmed(text.substr(std::min(dash + 1, text.size()))));
                if (!first || !last || *first < 1024 || *last > 65535 || *last - *first + 1 < kFewestPorts) {
                  return false;
                }
                field(config) = {.first = static_cast<std::uint16_t>(*first),
                                 .last = static_cast<std::uint16_t>(*last)};
                return true;
              },
          .show =
              [=](const Config& config) {
                const PortRange& range = field(const_cast<Config&>(config));
                return fmt::format("{}-{}", range.first, range.last);
              }};
}

// A key whose value keeps its text; `nothing` is the word for a text without anything.
template <class Parse, class Field>
Key parsed(const std::string& name, const std::string& expected, const std::string& nothing, Parse parse,
           Field field) {
  return {.name = name,
          .environment = variable_of(name),
          .expected = expected,
          .set =
              [=](Config& config, std::string_view text) {
                auto value = parse(trimmed(text) == nothing ? std::string_view() : text);
                if (value) {
                  field(config) = std::move(*value);
                }
                return value.has_value();
              },
          .show =
              [=](const Config& config) {
                const std::string& text = field(const_cast<Config&>(config)).text();
                return text.empty() ? nothing : text;
              }};
}

Key with_nccl_variable(const char* variable, Key key) {
  key.nccl_variable = variable;
  return key;
}

std::optional<HcaList> parse_excluded(std::string_view text) {
  auto list = HcaList::parse(text);
  return list && !list->negated() ? list : std::nullopt;
}

constexpr std::array<std::pair<const char*, AddressFamily>, 5> kFamilies{{{"auto", AddressFamily::automatic},
                                                                          {"ipv4", AddressFamily::ipv4},
                                                                          {"ipv6", AddressFamily::ipv6},
                                                                          {"AF_INET", AddressFamily::ipv4},
                                                                          {"AF_INET6", AddressFamily::ipv6}}};

std::vector<Key> rdma_keys() {
  constexpr std::int64_t kMaxGid = 65535;
  return {
      with_nccl_variable("NCCL_IB_DISABLE",
                         flag(
                             "rdma.disable", [](Config & c) -> auto& { return c.rdma.disable; })),
      with_nccl_variable(
          "NCCL_IB_HCA",
          parsed(
              "rdma.hca",
              "\"all\" or a list like \"mlx5_0,mlx5_1:2\" (beginnings of names, each with a port if wanted; "
              "\"=\" before the list: whole names; \"^\": all but these)",
              "all", HcaList::parse, [](Config & c) -> auto& { return c.rdma.hca; })),
      parsed(
          "rdma.exclude_hca",
          "\"none\" or a list like \"mlx5_2,mlx5_3:1\" (\"=\" before the list: whole names)", "none",
          parse_excluded, [](Config & c) -> auto& { return c.rdma.exclude_hca; }),
      with_nccl_variable("NCCL_IB_GID_INDEX",
                         number(
                             "rdma.gid_index", "the index of a GID (-1: chosen)", -1, kMaxGid, 1,
                             [](Config & c) -> auto& { return c.rdma.gid_index; })),
      with_nccl_variable("NCCL_IB_ROCE_VERSION_NUM", number_or_auto(
                                                         "rdma.roce_version", 1, 2, [](Config & c) -> auto& {
                                                           return c.rdma.roce_version;
                                                         })),
      with_nccl_variable(
          "NCCL_IB_ADDR_FAMILY",
          choice(
              "rdma.address_family", kFamilies, [](Config & c) -> auto& { return c.rdma.address_family; })),
      with_nccl_variable(
          "NCCL_IB_ADDR_RANGE",
          parsed(
              "rdma.address_range", "\"any\" or a range like \"10.0.0.0/8\" or \"fd00::/8\"", "any",
              AddressRange::parse, [](Config & c) -> auto& { return c.rdma.address_range; })),
  };
}

// How two ranks meet, and how their queue pairs are set up.
std::vector<Key> rdma_connection_keys() {
  // The numbers are NCCL's.
  const std::array<std::pair<const char*, Switch>, 5> switches{{{"auto", Switch::automatic},
                                                                {"off", Switch::off},
                                                                {"on", Switch::on},
                                                                {"0", Switch::off},
                                                                {"1", Switch::on}}};
  const std::array<std::pair<const char*, Switch>, 6> orderings{
      {switches[0], switches[1], switches[2], switches[3], switches[4], {"2", Switch::automatic}}};
  const std::array<std::pair<const char*, std::uint32_t>, 6> mtus{
      {{"auto", 0}, {"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};
  const std::array<std::pair<const char*, DataDirect>, 6> data_direct{{{"both", DataDirect::both},
                                                                       {"off", DataDirect::off},
                                                                       {"only", DataDirect::only},
                                                                       {"0", DataDirect::off},
                                                                       {"1", DataDirect::both},
                                                                       {"2", DataDirect::only}}};
  const std::array<std::pair<const char*, RdmaConnection>, 2> connections{
      {{"bootstrap", RdmaConnection::bootstrap}, {"rdma_cm", RdmaConnection::rdma_cm}}};
  constexpr std::int64_t kMaxMilliseconds = 3600000;
  return {
      with_nccl_variable(
          "NCCL_SOCKET_IFNAME",
          parsed(
              "rdma.bootstrap_interface",
              "\"auto\" or a list like \"eth0,ib\" (beginnings of interfaces' names; \"=\" before the list: "
              "whole names; \"^\": all but these)",
              "auto", InterfaceList::parse, [](Config & c) -> auto& { return c.rdma.bootstrap_interface; })),
      with_nccl_variable("NCCL_SOCKET_FAMILY",
                         choice(
                             "rdma.bootstrap_family", kFamilies,
                             [](Config & c) -> auto& { return c.rdma.bootstrap_family; })),
      number(
          "rdma.connect_timeout_ms", "milliseconds", 100, kMaxMilliseconds, 1,
          [](Config & c) -> auto& { return c.rdma.connect_timeout; }),
      number(
          "rdma.accept_timeout_ms", "milliseconds", 100, kMaxMilliseconds, 1,
          [](Config & c) -> auto& { return c.rdma.accept_timeout; }),
      choice(
          "rdma.connection", connections, [](Config & c) -> auto& { return c.rdma.connection; }),
      with_nccl_variable("NCCL_IB_QPS_PER_CONNECTION", number(
                                                           "rdma.qps", "an integer", 1, 32, 1,
                                                           [](Config & c) -> auto& { return c.rdma.qps; })),
      with_nccl_variable("NCCL_IB_SPLIT_DATA_ON_QPS",
                         flag(
                             "rdma.split", [](Config & c) -> auto& { return c.rdma.split; })),
      choice(
          "rdma.mtu", mtus, [](Config & c) -> auto& { return c.rdma.mtu; }),
      with_nccl_variable("NCCL_IB_TC",
                         number(
                             "rdma.traffic_class", "a traffic class (-1: the communicator's)", -1, 255, 1,
                             [](Config & c) -> auto& { return c.rdma.traffic_class; })),
      with_nccl_variable("NCCL_IB_SL",
                         number(
                             "rdma.service_level", "a service level (-1: the communicator's traffic class)",
                             -1, 15, 1, [](Config & c) -> auto& { return c.rdma.service_level; })),
      with_nccl_variable("NCCL_IB_PKEY", number(
                                             "rdma.pkey", "the index of a P_Key", 0, 65535, 1,
                                             [](Config & c) -> auto& { return c.rdma.pkey; })),
      with_nccl_variable("NCCL_IB_TIMEOUT", number(
                                                "rdma.timeout", "an exponent (4.096 us * 2^n)", 1, 31, 1,
                                                [](Config & c) -> auto& { return c.rdma.timeout; })),
      with_nccl_variable("NCCL_IB_RETRY_CNT", number(
                                                  "rdma.retry_count", "an integer", 0, 7, 1,
                                                  [](Config & c) -> auto& { return c.rdma.retry_count; })),
      number(
          "rdma.rnr_retry", "an integer (7: without end)", 0, 7, 1,
          [](Config & c) -> auto& { return c.rdma.rnr_retry; }),
      number(
          "rdma.rnr_timer", "a code of the IBA's table", 0, 31, 1,
          [](Config & c) -> auto& { return c.rdma.rnr_timer; }),
      with_nccl_variable("NCCL_IB_ADAPTIVE_ROUTING",
                         choice(
                             "rdma.adaptive_routing", switches,
                             [](Config & c) -> auto& { return c.rdma.adaptive_routing; })),
      with_nccl_variable("NCCL_IB_AR_THRESHOLD",
                         number(
                             "rdma.adaptive_routing_threshold", "a size", 0, std::int64_t{1} << 30, 1,
                             [](Config & c) -> auto& { return c.rdma.adaptive_routing_threshold; })),
      with_nccl_variable("NCCL_IB_PCI_RELAXED_ORDERING",
                         choice(
                             "rdma.relaxed_ordering", orderings,
                             [](Config & c) -> auto& { return c.rdma.relaxed_ordering; })),
      with_nccl_variable("NCCL_IB_USE_INLINE",
                         flag(
                             "rdma.use_inline", [](Config & c) -> auto& { return c.rdma.use_inline; })),
      choice(
          "rdma.gdr", switches, [](Config & c) -> auto& { return c.rdma.gdr; }),
      with_nccl_variable("NCCL_IB_DATA_DIRECT", choice(
                                                    "rdma.data_direct", data_direct,
                                                    [](Config & c) -> auto& { return c.rdma.data_direct; })),
      with_nccl_variable("NCCL_GDR_FLUSH_DISABLE", flag(
                                                       "rdma.gdr_flush_disable", [](Config & c) -> auto& {
                                                         return c.rdma.gdr_flush_disable;
                                                       })),
  };
}

Key rails_per_process(const std::string& name) {
  using Rule = RailsPerProcess::Rule;
  constexpr std::int64_t kMost = 64;
  return {.name = name,
          .environment = variable_of(name),
          .expected = fmt::format("\"auto\", \"all\" or an integer from 1 to {}", kMost),
          .set =
              [](Config& config, std::string_view text) {
                RailsPerProcess& value = config.tcp.rails_per_process;
                if (text == "auto" || text == "all") {
                  value = {.rule = text == "all" ? Rule::all : Rule::automatic};
                  return true;
                }
                const auto count = parse_integer(text);
                if (!count || *count < 1 || *count > kMost) {
                  return false;
                }
                value = {.rule = Rule::count, .count = static_cast<std::uint32_t>(*count)};
                return true;
              },
          .show =
              [](const Config& config) {
                const RailsPerProcess& value = config.tcp.rails_per_process;
                return value.rule == Rule::count ? std::to_string(value.count)
                       : value.rule == Rule::all ? std::string("all")
                                                 : std::string("auto");
              }};
}

constexpr std::int64_t kKib = 1024, kMib = kKib * kKib;

std::vector<Key> make_keys() {
  using Words = std::array<std::pair<const char*, std::string>, 3>;
  const Words transports{{{"auto", "auto"}, {"tcp", "tcp"}, {"rdma", "rdma"}}};
  const std::array<std::pair<const char*, Progress>, 3> progress{
      {{"auto", Progress::automatic}, {"inline", Progress::inline_}, {"threaded", Progress::threaded}}};
  const std::array<std::pair<const char*, HugepageMode>, 3> hugepages{
      {{"auto", HugepageMode::automatic}, {"required", HugepageMode::required}, {"off", HugepageMode::off}}};
  return {
      choice(
          "transport", transports, [](Config & c) -> auto& { return c.transport; }),
      flag(
          "required", [](Config & c) -> auto& { return c.required; }),
      parsed(
          "lock_folder", "\"auto\" or an absolute path", "auto", LockFolder::parse,
          [](Config & c) -> auto& { return c.lock_folder; }),
      flag(
          "tcp.bond", [](Config & c) -> auto& { return c.tcp.bond; }),
      flag(
          "tcp.probe", [](Config & c) -> auto& { return c.tcp.probe; }),
      rails_per_process("tcp.rails_per_process"),
      number_or_auto(
          "tcp.flows", 1, 64, [](Config & c) -> auto& { return c.tcp.flows; }),
      number(
          "tcp.max_flows", "an integer", 1, 64, 1, [](Config & c) -> auto& { return c.tcp.max_flows; }),
      number(
          "tcp.chunk_bytes", "a size", 4 * kKib, 64 * kMib, 128,
          [](Config & c) -> auto& { return c.tcp.chunk_bytes; }),
      number(
          "tcp.receive_buffer", "a size", 64 * kKib, 64 * kMib, 1,
          [](Config & c) -> auto& { return c.tcp.receive_buffer; }),
      number(
          "tcp.send_buffer", "a size", 64 * kKib, 1024 * kMib, 1,
          [](Config & c) -> auto& { return c.tcp.send_buffer; }),
      number(
          "tcp.min_rto_ms", "milliseconds", 1, 1000, 1, [](Config & c) -> auto& { return c.tcp.min_rto; }),
      number(
          "tcp.user_timeout_ms", "milliseconds", 100, 3600000, 1,
          [](Config & c) -> auto& { return c.tcp.user_timeout; }),
      number(
          "tcp.connect_timeout_ms", "milliseconds", 100, 3600000, 1,
          [](Config & c) -> auto& { return c.tcp.connect_timeout; }),
      number(
          "tcp.keepalive_idle_ms", "milliseconds (0: off)", 0, 3600000, 1,
          [](Config & c) -> auto& { return c.tcp.keepalive_idle; }),
      number(
          "tcp.port", "a TCP port (0: any)", 0, 65535, 1, [](Config & c) -> auto& { return c.tcp.port; }),
      port_range(
          "tcp.local_ports", [](Config & c) -> auto& { return c.tcp.local_ports; }),
      number(
          "tcp.max_recvs", "an integer", 1, 8, 1, [](Config & c) -> auto& { return c.tcp.max_recvs; }),
      number(
          "tcp.engines", "an integer", 1, 16, 1, [](Config & c) -> auto& { return c.tcp.engines; }),
      choice(
          "engine.progress", progress, [](Config & c) -> auto& { return c.engine.progress; }),
      number(
          "engine.cpu", "a CPU number (-1: any)", -1, 1023, 1,
          [](Config & c) -> auto& { return c.engine.cpu; }),
      choice(
          "memory.hugepages", hugepages, [](Config & c) -> auto& { return c.memory.hugepages; }),
      number(
          "memory.budget_mib", "MiB (0: what the rails need)", 0, std::int64_t{1} << 20, 1,
          [](Config & c) -> auto& { return c.memory.budget_mib; }),
  };
}

constexpr std::array<std::pair<std::string_view, RailKind>, 7> kKinds{{{"memif", RailKind::memif},
                                                                       {"pci", RailKind::pci},
                                                                       {"af_packet", RailKind::af_packet},
                                                                       {"af_xdp", RailKind::af_xdp},
                                                                       {"tap", RailKind::tap},
                                                                       {"virtio_user", RailKind::virtio_user},
                                                                       {"vhost", RailKind::vhost}}};

template <class Field>
RailKey rail_text(const std::string& name, const std::string& expected, Field field) {
  return {.name = name,
          .expected = expected,
          .set =
              [=](Rail& rail, std::string_view text) {
                field(rail) = std::string(text);
                return true;
              },
          .show = [=](const Rail& rail) { return field(const_cast<Rail&>(rail)); }};
}

// `what` and `parse`: how the number may be written.
template <class Parse, class Field>
RailKey rail_bounded(const std::string& name, const char* what, Parse parse, std::int64_t low,
                     std::int64_t high, Field field) {
  using Value = std::remove_reference_t<std::invoke_result_t<Field, Rail&>>;
  return {.name = name,
          .expected = fmt::format("{} from {} to {}", what, low, high),
          .set =
              [=](Rail& rail, std::string_view text) {
                const auto value = parse(text);
                if (!value || *value < low || *value > high) {
                  return false;
                }
                field(rail) = static_cast<Value>(*value);
                return true;
              },
          .show = [=](const Rail& rail) { return std::to_string(field(const_cast<Rail&>(rail))); }};
}

template <class Field>
RailKey rail_number(const std::string& name, std::int64_t low, std::int64_t high, Field field) {
  return rail_bounded(name, "an integer", parse_integer, low, high, field);
}

template <class Field>
RailKey rail_size(const std::string& name, std::int64_t low, std::int64_t high, Field field) {
  return rail_bounded(name, "a size", parse_size, low, high, field);
}

constexpr std::array<std::pair<std::string_view, MemifRole>, 2> kRoles{
    {{"client", MemifRole::client}, {"server", MemifRole::server}}};

template <class Words, class Field>
RailKey rail_choice(const std::string& name, const Words& words, Field field) {
  return {.name = name,
          .expected = one_of(words),
          .set = [=](Rail& rail, std::string_view text) { return set_by_word(words, text, field(rail)); },
          .show = [=](const Rail& rail) { return std::string(to_string(field(const_cast<Rail&>(rail)))); }};
}

constexpr std::array<std::pair<std::string_view, CongestionControl>, 3> kControls{
    {{"cubic", CongestionControl::cubic},
     {"dctcp", CongestionControl::dctcp},
     {"bottleneck", CongestionControl::bottleneck}}};

template <class Field>
RailKey rail_flag(const std::string& name, Field field) {
  return {.name = name,
          .expected = "true or false",
          .set = [=](Rail& rail, std::string_view text) { return set_flag(text, field(rail)); },
          .show = [=](const Rail& rail) { return field(const_cast<Rail&>(rail)) ? "true" : "false"; }};
}

// Several addresses are joined by '+', in the environment and by the file's reader.
bool set_addresses(Rail& rail, std::string_view text) {
  rail.addresses.clear();
  while (!text.empty()) {
    const std::size_t plus = std::min(text.find('+'), text.size());
    rail.addresses.push_back(trimmed(text.substr(0, plus)));
    text.remove_prefix(std::min(plus + 1, text.size()));
  }
  return !rail.addresses.empty();
}

constexpr const char* kAllQueues = "all";

bool set_queues(Rail& rail, std::string_view text) {
  constexpr std::int64_t kMostQueues = 1024;
  if (text == kAllQueues) {
    rail.queues = {};
    return true;
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_integer(trimmed(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos ? first : parse_integer(trimmed(text.substr(dash + 1)));
  if (!first || !last || *first < 0 || *last < *first || *last >= kMostQueues) {
    return false;
  }
  rail.queues = {.first = static_cast<std::uint16_t>(*first),
                 .count = static_cast<std::uint16_t>(*last - *first + 1)};
  return true;
}

std::string show_queues(const Rail& rail) {
  if (rail.queues.whole()) {
    return kAllQueues;
  }
  const std::string first = std::to_string(rail.queues.first);
  return rail.queues.count == 1 ? first : fmt::format("{}-{}", first, rail.queues.end() - 1);
}

std::vector<RailKey> make_rail_keys() {
  return {
      rail_text(
          "name", "a name", [](Rail & r) -> auto& { return r.name; }),
      rail_choice(
          "kind", kKinds, [](Rail & r) -> auto& { return r.kind; }),
      rail_text(
          "device", "a PCI address, an interface or a socket's path",
          [](Rail & r) -> auto& { return r.device; }),
      rail_choice(
          "role", kRoles, [](Rail & r) -> auto& { return r.role; }),
      {.name = "addresses",
       .expected = "addresses like \"10.0.0.5/24\"",
       .set = set_addresses,
       .show = [](const Rail& rail) { return fmt::format("{}", fmt::join(rail.addresses, "+")); },
       .list = true},
      rail_text(
          "gateway", "an IPv4 address", [](Rail & r) -> auto& { return r.gateway; }),
      rail_text(
          "gateway6", "an IPv6 address", [](Rail & r) -> auto& { return r.gateway6; }),
      rail_number(
          "mtu", 0, 65535, [](Rail & r) -> auto& { return r.mtu; }),
      rail_number(
          "speed_mbps", 0, 1600000, [](Rail & r) -> auto& { return r.speed_mbps; }),
      rail_number(
          "numa_node", -1, 1023, [](Rail & r) -> auto& { return r.numa_node; }),
      rail_number(
          "vlan", 0, 4094, [](Rail & r) -> auto& { return r.vlan; }),
      {.name = "queues",
       .expected = "all, or an interface's queues like \"0\" or \"2-3\"",
       .set = set_queues,
       .show = show_queues},
      rail_choice(
          "congestion_control", kControls, [](Rail & r) -> auto& { return r.congestion_control; }),
      rail_flag(
          "ecn", [](Rail & r) -> auto& { return r.ecn; }),
      rail_flag(
          "pacing", [](Rail & r) -> auto& { return r.pacing; }),
      rail_size(
          "receive_window", 64 * kKib, 1024 * kMib, [](Rail & r) -> auto& { return r.receive_window; }),
      rail_size(
          "receive_memory", kMib, kMib * kMib, [](Rail & r) -> auto& { return r.receive_memory; }),
      rail_flag(
          "tso", [](Rail & r) -> auto& { return r.tso; }),
  };
}

}  // namespace

// Built once and never destroyed: the library has no destructors that run at process exit.
std::span<const Key> keys() {
  static const auto* table = [] {
    auto* all = new std::vector<Key>(make_keys());
    for (const std::vector<Key>& rdma : {rdma_keys(), rdma_connection_keys()}) {
      all->insert(all->end(), rdma.begin(), rdma.end());
    }
    return all;
  }();
  return *table;
}

std::span<const RailKey> rail_keys() {
  static const auto* table = new std::vector<RailKey>(make_rail_keys());
  return *table;
}

std::string_view to_string(RailKind kind) { return kKinds[static_cast<std::size_t>(kind)].first; }
std::string_view to_string(MemifRole role) { return kRoles[static_cast<std::size_t>(role)].first; }
std::string_view to_string(CongestionControl control) {
  return kControls[static_cast<std::size_t>(control)].first;
}

}  // namespace tfabric::config
