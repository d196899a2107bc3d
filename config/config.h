// The effective configuration: built-in defaults, then the TOML file, then the environment.
//
// This is the one place below the tools that reads the environment. Every value knows where it came
// from. Thread-safe once loaded (immutable).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/address.h"
#include "config/nccl_lists.h"

namespace tfabric::config {

// How a rail reaches its wire.
enum class RailKind : std::uint8_t {
  memif,        // shared memory between processes of one host; no NIC, no root. Without a device they find
                // each other; with one, a socket's path, it is a wire like any other
  pci,          // a NIC owned by DPDK
  af_packet,    // a kernel interface, through AF_PACKET (root)
  af_xdp,       // a kernel interface, through AF_XDP (root)
  tap,          // a TAP interface made by DPDK (root)
  virtio_user,  // the guest's end of a vhost-user socket, as a container attaches to a virtual switch
  vhost,        // the switch's end of it
};

// Which end of a memif wire makes the socket; the other connects to it.
enum class MemifRole : std::uint8_t { client, server };

// How much a connection sends before it is acknowledged.
enum class CongestionControl : std::uint8_t {
  cubic,       // RFC 9438: fair to others, for any path
  dctcp,       // RFC 8257: for networks whose switches mark early
  bottleneck,  // by a model of the path: for links that police each flow
};

// AF_XDP wants a frame in one page (transport/tcp/nic/pools.h).
inline constexpr std::uint32_t kMostAfXdpMtu = 3502;

// Queue pairs of an interface.
struct QueueRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;  // 0: all that there are

  [[nodiscard]] bool whole() const { return count == 0; }
  [[nodiscard]] std::uint16_t end() const { return static_cast<std::uint16_t>(first + count); }
};

struct Rail {
  std::string name;
  RailKind kind = RailKind::memif;
  std::string device;                  // PCI address, kernel interface name, or a socket's path
  MemifRole role = MemifRole::client;  // memif with a device
  std::vector<std::string> addresses;  // "10.0.0.5/24", "fd00::5/64"; memif without a device: chosen
  std::string gateway;                 // IPv4; empty: none
  std::string gateway6;
  std::uint32_t mtu =
      0;  // 0: by kind (memif 16000, pci 9000, af_packet and af_xdp the interface's, others 1500)
  std::uint32_t speed_mbps = 0;  // 0: 50000 for memif, 10000 for others
  int numa_node = -1;
  std::uint16_t vlan = 0;
  // af_xdp: with some of an interface's queues, which has its addresses from the kernel and stays in its use.
  QueueRange queues;
  CongestionControl congestion_control = CongestionControl::cubic;
  bool ecn = false;                          // RFC 3168; on with dctcp
  bool pacing = false;                       // on with bottleneck
  bool tso = true;                           // the driver cuts segments, if it can
  std::uint64_t receive_window = 16u << 20;  // bytes that all peers may have under way to this rail
  std::uint64_t receive_memory = 1u << 30;   // bytes that its connections may hold for slow receivers
};

// A memif rail whose processes find each other, and choose their sockets and addresses themselves.
[[nodiscard]] inline bool is_automatic_memif(const Rail& rail) {
  return rail.kind == RailKind::memif && rail.device.empty();
}

// A rail whose device is an interface that the kernel has without it.
[[nodiscard]] inline bool is_kernel_interface(const Rail& rail) {
  return rail.kind == RailKind::af_packet || rail.kind == RailKind::af_xdp;
}

// A rail that is a part of such an interface. Others are other processes' (docs/rails.md).
[[nodiscard]] inline bool is_part_of_interface(const Rail& rail) {
  return rail.kind == RailKind::af_xdp && !rail.queues.whole();
}

// A rail whose device is a Unix socket in the file system.
[[nodiscard]] inline bool has_socket(const Rail& rail) {
  return rail.kind == RailKind::memif || rail.kind == RailKind::virtio_user || rail.kind == RailKind::vhost;
}

// A folder, or none: one is chosen (host/process_lock.h).
class LockFolder {
 public:
  // Nothing if `text` is neither empty nor an absolute path.
  [[nodiscard]] static std::optional<LockFolder> parse(std::string_view text) {
    return text.empty() || text.starts_with('/') ? std::optional(LockFolder(text)) : std::nullopt;
  }
  LockFolder() = default;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  explicit LockFolder(std::string_view text) : text_(text) {}
  std::string text_;
};

enum class Progress : std::uint8_t { automatic, inline_, threaded };
enum class HugepageMode : std::uint8_t { automatic, required, off };

// Of an engine: each connection of a job takes one, and one that was just closed is not free at once.
inline constexpr std::uint32_t kFewestPorts = 256;

// RFC 6335 §6: the dynamic ports, unless told otherwise.
struct PortRange {
  std::uint16_t first = 49152;
  std::uint16_t last = 65535;
};

// How many of the rails that only one process can have a process takes.
struct RailsPerProcess {
  enum class Rule : std::uint8_t {
    automatic,  // its share by local rank; one, if no launcher tells the rank
    all,        // all that are configured: other processes have other configurations
    count
  };
  Rule rule = Rule::automatic;
  std::uint32_t count = 0;
};

struct Tcp {
  std::vector<Rail> rails;
  bool rails_from_environment = false;      // so they are this process's, where no launcher says otherwise
  bool bond = false;                        // all rails are one device, instead of one device a rail
  bool probe = true;                        // each rail's network is tried before NCCL is told of it
  RailsPerProcess rails_per_process;        // of those that only one process can have
  std::uint32_t flows = 0;                  // TCP connections a comm and rail; 0: found by measuring
  std::uint32_t max_flows = 16;             // most that are tried
  std::uint32_t chunk_bytes = 512u << 10;   // largest chunk of a message on one flow
  std::uint32_t receive_buffer = 4u << 20;  // bytes, a flow
  std::uint32_t send_buffer = 8u << 20;
  std::chrono::milliseconds min_rto{5};
  std::chrono::milliseconds user_timeout{20000};
  std::chrono::milliseconds connect_timeout{10000};
  std::chrono::milliseconds keepalive_idle{5000};
  std::uint16_t port = 0;       // listening port, of the first engine; 0: one of local_ports
  PortRange local_ports;        // of the connections that this process opens
  std::uint32_t max_recvs = 1;  // receives in a group, 1 ... 8
  // Poll loops of the process, each with a queue pair of every rail's NIC; 1 ... 16.
  std::uint32_t engines = 1;
};

enum class AddressFamily : std::uint8_t { automatic, ipv4, ipv6 };

enum class Switch : std::uint8_t { automatic, off, on };

// The use of HCAs' Data Direct functions.
enum class DataDirect : std::uint8_t { off, both, only };

// How queue pairs are connected.
enum class RdmaConnection : std::uint8_t {
  bootstrap,  // by what both ranks tell each other over TCP
  rdma_cm,    // by the connection manager of the RDMA network; the ranks meet over TCP all the same
};

// Which RDMA ports are used, by which of their addresses (GIDs), and how pairs of them are connected.
// Defaults of what NCCL has a variable for are those of its built-in network (2.23 and later).
struct Rdma {
  bool disable = false;
  HcaList hca;                     // those that are used
  HcaList exclude_hca;             // those that never are, such as storage NICs; not negated
  int gid_index = -1;              // RoCE; -1: chosen
  std::uint32_t roce_version = 0;  // 1 or 2; 0: 2 before 1
  AddressFamily address_family = AddressFamily::automatic;  // automatic: IPv4 before IPv6
  AddressRange address_range;

  // The meeting of two ranks, over the kernel's TCP.
  InterfaceList bootstrap_interface;
  AddressFamily bootstrap_family = AddressFamily::automatic;  // automatic: both
  std::chrono::milliseconds connect_timeout{10000};           // for each step but the next
  std::chrono::milliseconds accept_timeout{60000};            // until the peer's rank accepts

  // Queue pairs.
  RdmaConnection connection = RdmaConnection::bootstrap;
  std::uint32_t qps = 1;       // a comm and rail
  bool split = false;          // each message over all of them, instead of one after the other
  std::uint32_t mtu = 0;       // bytes; 0: the port's
  int traffic_class = -1;      // RoCE; -1: the communicator's, else 0
  int service_level = -1;      // InfiniBand; -1: the communicator's traffic class, else 0
  std::uint32_t pkey = 0;      // index in the port's table
  std::uint32_t timeout = 20;  // of an acknowledgement: 4.096 us * 2^timeout
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;                      // while the receiver has posted nothing; 7: without end
  std::uint32_t rnr_timer = 12;                     // code of the IBA's table (12: 0.64 ms)
  Switch adaptive_routing = Switch::automatic;      // automatic: on InfiniBand
  std::uint32_t adaptive_routing_threshold = 8192;  // bytes; messages that are larger come out of order
  Switch relaxed_ordering = Switch::automatic;      // of the NIC's PCI writes; automatic: where it is offered
  bool use_inline = false;                          // control writes travel in their work requests
  Switch gdr = Switch::automatic;                   // GPU memory is registered; automatic: where it can be
  bool gdr_flush_disable = false;                   // iflush does nothing
  DataDirect data_direct = DataDirect::both;        // beside the HCA's own function; only: instead
};

struct Engine {
  Progress progress = Progress::automatic;
  int cpu = -1;  // threaded: pin to it; -1: not pinned
};

struct Memory {
  HugepageMode hugepages = HugepageMode::automatic;
  std::uint32_t budget_mib = 0;  // a process; 0: what the rails need
};

// What the job's launcher says of this process.
struct Launcher {
  std::optional<std::uint32_t> local_rank, local_size;  // among the job's processes on this host
  std::string variable;                                 // that local_rank comes from
  std::string job;                                      // tells jobs apart; empty: no launcher that says so
};

struct Config {
  std::string transport = "auto";  // auto, tcp, rdma
  bool required = false;           // an unusable transport is an error instead of a fallback
  LockFolder lock_folder;          // where processes of this host agree who has what
  Tcp tcp;
  Rdma rdma;
  Engine engine;
  Memory memory;
  Launcher launcher;

  // For people: each key, its effective value as text, and where it came from ("default",
  // "/path/file.toml:12", "environment TFABRIC_TCP_FLOWS").
  struct Entry {
    std::string key;
    std::string value;
    std::string origin;
  };
  std::vector<Entry> entries;
  std::string file;  // the file that was read; empty: none found
};

// The variables that begin with TFABRIC_, those of NCCL's that keys have and those of launchers, by name.
// Tests make their own.
using Environment = std::map<std::string, std::string>;
[[nodiscard]] Environment process_environment();
// All variables of the process.
[[nodiscard]] Environment whole_environment();

// What the variables of a launcher say: torchrun and DeepSpeed, Open MPI, Intel MPI and MPICH, MVAPICH, PALS,
// JSM, Slurm. The innermost counts if several are nested, such as torchrun under srun.
[[nodiscard]] Launcher find_launcher(const Environment& environment);
// Returns true if find_launcher() reads the variable.
[[nodiscard]] bool is_launcher_variable(std::string_view variable);

// Where the file is looked for if TFABRIC_CONFIG names none: the first that exists counts.
[[nodiscard]] std::span<const std::string> default_files();

// Loads and validates. Errors (Errc::invalid_usage) say file and line or variable, what was expected and
// the nearest known key; several errors are joined by newlines. A file that exists and cannot be read is
// an error: somebody meant it to count.
Result<Config> load(const Environment& environment = process_environment(),
                    std::span<const std::string> files = default_files());

// Of a configuration that load() refuses: whether `required` is set, as far as it can be read.
[[nodiscard]] bool is_required(const Environment& environment = process_environment(),
                               std::span<const std::string> files = default_files());

}  // namespace tfabric::config
