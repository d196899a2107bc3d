// The effective configuration: built-in defaults, then the TOML file, then the environment.
//
// Below the tools, only config/ reads the environment. The origin of every value is recorded. A loaded
// configuration does not change, and any thread may read it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/address.h"
#include "config/fault.h"
#include "config/nccl_lists.h"
#include "config/rail_kinds.h"

namespace tfabric::config {

// The server of a memif connection creates the socket; the client connects to it.
enum class MemifRole : std::uint8_t { client, server };

// The algorithm that limits a connection's unacknowledged data.
enum class CongestionControl : std::uint8_t {
  cubic,       // RFC 9438: for any path, fair to other traffic
  dctcp,       // RFC 8257: for networks whose switches mark early
  bottleneck,  // a model of the path: for links that police each flow
};

// A contiguous range of an interface's queue pairs.
struct QueueRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;  // 0: all queue pairs

  [[nodiscard]] bool whole() const { return count == 0; }
  [[nodiscard]] std::uint16_t end() const { return static_cast<std::uint16_t>(first + count); }
};

struct Rail {
  std::string name;
  RailKind kind = RailKind::memif;
  std::string device;                  // PCI address, kernel interface name, or a socket's path
  std::string arguments{};             // pci: of the NIC's driver in DPDK, as DPDK reads them
  MemifRole role = MemifRole::client;  // memif with a device
  std::vector<std::string> addresses;  // "10.0.0.5/24", "fd00::5/64"; none for memif without a device
  std::string gateway;                 // IPv4; empty: none
  std::string gateway6;
  // 0: by kind (memif 16000, pci 9000, af_packet and af_xdp the interface's, others 1500)
  std::uint32_t mtu = 0;
  std::uint32_t speed_mbps = 0;  // 0: 50000 for memif, 10000 for others
  int numa_node = -1;
  std::uint16_t vlan = 0;
  // af_xdp: a subset of the interface's queues. The kernel keeps using the interface, and sets its addresses.
  QueueRange queues;
  CongestionControl congestion_control = CongestionControl::cubic;
  bool ecn = false;                          // RFC 3168; always on with dctcp
  bool pacing = false;                       // always on with bottleneck
  bool tso = true;                           // the driver segments, if it can
  std::uint64_t receive_window = 16u << 20;  // bytes that all peers may have in flight to this rail
  std::uint64_t receive_memory = 1u << 30;   // bytes that its connections may hold for slow receivers

  // Where it was read, for messages and display: "/path/file.toml:12", "environment TFABRIC_TCP_RAILS".
  std::string where{};
  std::map<std::string, std::string> origins{};  // of its keys that were set
  bool malformed = false;                        // some key could not be read and has its default instead

  std::vector<Fault> faults{};  // those of TFABRIC_FAULT that are for this rail
  bool may_fail = false;        // fault.allow: faults may be added while it is open
};

// Returns true for a memif rail whose processes find each other, and choose their own sockets and addresses.
[[nodiscard]] inline bool is_automatic_memif(const Rail& rail) {
  return row_of(rail.kind).finds_processes && rail.device.empty();
}

// Returns true if the rail's device is a NIC that is taken from the kernel.
[[nodiscard]] inline bool is_nic(const Rail& rail) {
  return row_of(rail.kind).device == RailKindRow::pci_function;
}

// Returns true if the rail's device is an interface of the kernel that exists without the rail.
[[nodiscard]] inline bool is_kernel_interface(const Rail& rail) { return row_of(rail.kind).kernel_interface; }

// Returns true if the rail's connections are the kernel's own: it needs no DPDK and no privilege, and any
// number of processes use the interface.
[[nodiscard]] inline bool is_kernel_stack(const Rail& rail) { return row_of(rail.kind).kernel_stack; }

// Returns true for a rail over a network of hosts, and not a wire to one process.
[[nodiscard]] inline bool is_networked(const Rail& rail) {
  return row_of(rail.kind).device != RailKindRow::socket;
}

// Returns true if it is a rail of our own TCP over such a network.
[[nodiscard]] inline bool is_own_network(const Rail& rail) {
  return is_networked(rail) && !is_kernel_stack(rail);
}

// Returns true if the rail uses a subset of an interface's queues; other processes use the rest
// (docs/rails.md).
[[nodiscard]] inline bool has_queue_subset(const Rail& rail) {
  return row_of(rail.kind).takes_queues && !rail.queues.whole();
}

// Returns true if the rail's device is a Unix socket that the rail makes, and false for one to which it
// connects.
[[nodiscard]] inline bool makes_socket(const Rail& rail) {
  return row_of(rail.kind).makes_socket || (row_of(rail.kind).takes_role && rail.role == MemifRole::server);
}

// The folder of the process locks. If it is empty, host/process_lock.h chooses one.
class LockFolder {
 public:
  // Returns nothing if `text` is neither empty nor an absolute path.
  [[nodiscard]] static std::optional<LockFolder> parse(std::string_view text) {
    return text.empty() || text.starts_with('/') ? std::optional(LockFolder(text)) : std::nullopt;
  }
  LockFolder() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit LockFolder(std::string_view text) : text_(text) {}
  std::string text_;
};

// Where processes keep their pages (observe/page_place.h); if it is empty, /run/tfabric if there is such a
// folder.
class PageFolder {
 public:
  static constexpr std::string_view kNone = "none";  // pages end with their processes
  // Returns nothing if `text` is neither empty, nor kNone, nor an absolute path.
  [[nodiscard]] static std::optional<PageFolder> parse(std::string_view text) {
    return text.empty() || text == kNone || text.starts_with('/') ? std::optional(PageFolder(text))
                                                                  : std::nullopt;
  }
  PageFolder() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit PageFolder(std::string_view text) : text_(text) {}
  std::string text_;
};

// A group of this host by name or number; empty: none.
class GroupName {
 public:
  // Returns nothing if `text` has a character that ends a name in /etc/group, or a blank.
  [[nodiscard]] static std::optional<GroupName> parse(std::string_view text) {
    for (const char c : text) {
      if (c <= ' ' || c == ':' || c == ',' || c == '\x7f') {
        return std::nullopt;
      }
    }
    return GroupName(text);
  }
  GroupName() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit GroupName(std::string_view text) : text_(text) {}
  std::string text_;
};

// Where processes leave dumps by themselves (observe/dump/folder.h); if it is empty, /tmp/tfabric-UID.
class DumpFolder {
 public:
  // Returns nothing if `text` is neither empty nor an absolute path.
  [[nodiscard]] static std::optional<DumpFolder> parse(std::string_view text) {
    return text.empty() || text.starts_with('/') ? std::optional(DumpFolder(text)) : std::nullopt;
  }
  DumpFolder() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit DumpFolder(std::string_view text) : text_(text) {}
  std::string text_;
};

enum class Progress : std::uint8_t { automatic, inline_, threaded };
enum class HugepageMode : std::uint8_t { automatic, required, off };

// The fewest local ports of an engine: each connection of a job takes one, and a closed connection holds its
// port for a while (time-wait).
inline constexpr std::uint32_t kFewestPorts = 256;

// A range of TCP ports. The default is the dynamic ports of RFC 6335 §6.
struct PortRange {
  std::uint16_t first = 49152;
  std::uint16_t last = 65535;
};

// How many of the rails that only one process can own a process takes.
struct RailsPerProcess {
  enum class Rule : std::uint8_t {
    automatic,  // its share by local rank; one if no launcher reports the rank
    all,        // all configured rails, because other processes have other configurations
    count
  };
  Rule rule = Rule::automatic;
  std::uint32_t count = 0;
};

enum class Switch : std::uint8_t { automatic, off, on };

// As many rails can be one device: a handle has room for as many (transport/session/handshake.h).
inline constexpr std::size_t kMostBonded = 8;

struct Tcp {
  std::vector<Rail> rails;
  bool rails_from_environment = false;  // then all are this process's own, if there is no launcher
  // All rails are one device, instead of one device each; automatic: where each process has all of them.
  Switch bond = Switch::automatic;
  bool reserve = true;   // a device's comms go over the process's other rails while its own are lost
  bool lifeboat = true;  // and then over an interface of the kernel's
  bool probe = true;     // check each rail's network before offering it to NCCL
  RailsPerProcess rails_per_process;        // of the rails that only one process can own
  std::uint32_t flows = 0;                  // TCP connections per comm and rail; 0: found by measurement
  std::uint32_t max_flows = 16;             // the most that are tried
  std::uint32_t chunk_bytes = 512u << 10;   // largest chunk of a message on one flow
  std::uint32_t receive_buffer = 4u << 20;  // bytes per flow
  std::uint32_t send_buffer = 8u << 20;
  std::chrono::milliseconds min_rto{5};
  std::chrono::milliseconds user_timeout{20000};
  std::chrono::milliseconds connect_timeout{10000};
  std::chrono::milliseconds keepalive_idle{5000};
  bool witness = true;  // one connection of the kernel's TCP to each peer process (transport/witness/)
  std::chrono::milliseconds frozen_timeout{300000};  // instead of user_timeout, for a process that is stopped
  std::uint16_t port = 0;       // the first engine's listening port; 0: one of local_ports
  PortRange local_ports;        // of the connections that this process opens
  std::uint32_t max_recvs = 1;  // receives in a group, 1 to 8
  // Poll loops of the process, each with a queue pair of every rail's NIC; 1 to 16.
  std::uint32_t engines = 1;
  std::vector<Fault> faults{};  // those of TFABRIC_FAULT that are for the process as a whole
};

// Returns the rails that stand in for RDMA's ports where these are used.
[[nodiscard]] inline std::vector<Rail> stand_ins_for_ports(const Tcp& tcp) {
  std::vector<Rail> rails;
  std::copy_if(tcp.rails.begin(), tcp.rails.end(), std::back_inserter(rails),
               [&](const Rail& rail) { return tcp.reserve && is_own_network(rail); });
  return rails;
}

// Returns true if DPDK carries the packets of one of the rails.
[[nodiscard]] inline bool uses_dpdk(const Tcp& tcp) {
  return !std::all_of(tcp.rails.begin(), tcp.rails.end(), is_kernel_stack);
}

// What a process shows of itself while it runs.
struct Observe {
  bool page = true;
  // How long a request may wait for the application before the log says why; 0: nothing is said of any wait.
  int hang_seconds = 30;
  int hang_warn_seconds = 300;  // and before it is a warning
  // How many of each connection's last packets are kept, without their payload; a power of two is made of it.
  // 0: none.
  int records = 64;
  PageFolder folder;  // for the page
  GroupName group;    // which may read it
  // How many dumps a process leaves by itself when the network, a peer or a comm fails, and where.
  int dumps = 8;
  DumpFolder dump_folder;
};

// What others may do to the process while it runs.
struct FaultPermission {
  bool allow = false;  // let `tfabric fault` make rails fail on purpose
};

enum class AddressFamily : std::uint8_t { automatic, ipv4, ipv6 };

// The use of HCAs' Data Direct functions.
enum class DataDirect : std::uint8_t { off, both, only };

// Which RDMA ports are used, by which of their addresses (GIDs), and how pairs of ports are connected.
// A member for which NCCL has a variable has the default of NCCL's built-in network (2.23 and later).
struct Rdma {
  bool disable = false;
  HcaList hca;                                              // the ports to use
  HcaList exclude_hca;                                      // never used, such as storage NICs; not negated
  int gid_index = -1;                                       // RoCE; -1: chosen
  std::uint32_t roce_version = 0;                           // 1 or 2; 0: 2 before 1
  AddressFamily address_family = AddressFamily::automatic;  // automatic: IPv4 before IPv6
  AddressRange address_range;

  // The bootstrap of two ranks, over the kernel's TCP.
  InterfaceList bootstrap_interface;
  AddressFamily bootstrap_family = AddressFamily::automatic;  // automatic: both
  std::chrono::milliseconds connect_timeout{10000};           // for each step except the accept

  Switch bond = Switch::automatic;  // ports as one device; automatic: those of a card

  // Queue pairs.
  std::uint32_t qps = 1;           // per comm and rail
  bool split = false;              // each message over all queue pairs, instead of whole messages in turn
  std::uint32_t mtu = 0;           // bytes; 0: the port's
  int traffic_class = -1;          // RoCE; -1: the communicator's, else 0
  int control_traffic_class = -1;  // RoCE, of what receivers send; -1: that of data
  int service_level = -1;          // InfiniBand; -1: the communicator's traffic class, else 0
  std::uint32_t pkey = 0;          // index in the port's table
  std::uint32_t timeout = 20;      // of an acknowledgement: 4.096 us * 2^timeout
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;                      // while no receive is posted; 7: without limit
  std::uint32_t rnr_timer = 12;                     // code from the IBA's table (12: 0.64 ms)
  Switch adaptive_routing = Switch::automatic;      // automatic: on InfiniBand
  std::uint32_t adaptive_routing_threshold = 8192;  // bytes; larger messages may arrive out of order
  Switch relaxed_ordering = Switch::automatic;  // of the NIC's PCI writes; automatic: where it is supported
  bool use_inline = false;                      // control writes are inlined into their work requests
  bool return_async_events = true;              // a fatal event of the HCA fails the comms that it concerns
  Switch gdr = Switch::automatic;               // GPU memory is registered; automatic: where possible
  bool gdr_flush_disable = false;               // iflush() does nothing
  DataDirect data_direct = DataDirect::both;    // both: beside the HCA's own function; only: instead

  std::vector<Fault> faults;  // of TFABRIC_FAULT, those for ports that have the name

  // A line for each variable NCCL_IB_* of the environment that no key reads: what happens instead.
  std::vector<std::string> unused_variables;
};

struct Engine {
  Progress progress = Progress::automatic;
  int cpu = -1;  // threaded: the CPU of the first engine's thread; -1: not pinned
};

struct Memory {
  HugepageMode hugepages = HugepageMode::automatic;
  std::uint32_t budget_mib = 0;  // per process; 0: what the rails need
};

// What the job's launcher reports about this process.
struct Launcher {
  std::optional<std::uint32_t> local_rank, local_size;  // among the job's processes on this host
  std::string variable;                                 // the origin of local_rank
  std::string job;                                      // identifies the job; empty: unknown
};

struct Config {
  std::string transport = "auto";  // auto, auto+kernel, tcp, socket, rdma
  bool required = false;           // an unusable transport is an error instead of a fallback
  LockFolder lock_folder;          // of the locks by which this host's processes share rails
  Tcp tcp;
  Rdma rdma;
  Engine engine;
  Memory memory;
  Observe observe;
  FaultPermission fault;
  Launcher launcher;

  // For display: each key, its effective value as text, and its origin ("default", "/path/file.toml:12",
  // "environment TFABRIC_TCP_FLOWS").
  struct Entry {
    std::string key;
    std::string value;
    std::string origin;
  };
  std::vector<Entry> entries;
  std::string file;  // the file that was read; empty: none
  // What is worth knowing and no error, such as a variable that does not belong to any key. A line each.
  std::vector<std::string> notes;
  // What TFABRIC_FAULT will do, as a line for the log; empty: it is not set, and nothing is rehearsed.
  std::string rehearsal;
};

// Environment variables by name. Tests pass their own.
using Environment = std::map<std::string, std::string>;
// Returns the variables that load() reads: TFABRIC_*, NCCL_IB_* and other variables of NCCL that keys honour,
// and those of launchers.
[[nodiscard]] Environment process_environment();
// Returns all variables of the process.
[[nodiscard]] Environment whole_environment();

// Returns what the launcher's variables report: torchrun and DeepSpeed, Open MPI, Intel MPI and MPICH,
// MVAPICH, PALS, JSM or Slurm. If several are nested, such as torchrun under srun, the innermost takes
// precedence.
[[nodiscard]] Launcher find_launcher(const Environment& environment);
// Returns true if find_launcher() reads the variable.
[[nodiscard]] bool is_launcher_variable(std::string_view variable);

// Where the file is looked for if TFABRIC_CONFIG is not set; the first that exists is used.
[[nodiscard]] std::span<const std::string> default_files();

// Returns why a configuration file cannot be read, or nothing if it can. Sets `missing` if there is no such
// file.
[[nodiscard]] std::string file_fault(const std::string& path, bool& missing);

// Loads and validates. Errors (Errc::invalid_usage) name the file and line or the variable, what was expected
// and the nearest known key; several errors are joined by newlines. A file that exists but cannot be read is
// an error, because it was meant to be used.
Result<Config> load(const Environment& environment = process_environment(),
                    std::span<const std::string> files = default_files());

// Returns true if this value of NCCL_NET asks for tfabric: NCCL then takes no other network.
[[nodiscard]] bool nccl_insists(const std::string& nccl_net);

// Returns `required`, as far as it can be read, of a configuration that load() may refuse.
[[nodiscard]] bool is_required(const Environment& environment = process_environment(),
                               std::span<const std::string> files = default_files());

}  // namespace tfabric::config
