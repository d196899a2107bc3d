// The interface between plugin/ and the transports (tcp, rdma).
//
// A transport offers devices; a device makes listeners and send comms; a listener makes receive comms;
// comms make requests. Comms are one-way, sender to receiver. No call blocks: a call that cannot be done now
// returns a null pointer (or false from test()) and is repeated with the same arguments. No exception crosses
// this interface. It has no NCCL types; the plugin translates.
//
// Threads: one thread at a time posts and tests on a comm, while another may register and deregister memory
// on the same comm. Different threads may use different comms and devices at the same time. Ownership: an
// object returned as unique_ptr belongs to the caller; its destructor closes it, cancels outstanding requests
// and never waits for the peer. Requests belong to their comm and are invalid once test() has returned true
// or an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::transport {

// Size of the opaque handle that NCCL ships from the listener to the connector (NCCL_NET_HANDLE_MAXSIZE).
inline constexpr std::size_t kHandleBytes = 128;
// The same in version 4 of NCCL's table.
inline constexpr std::size_t kShortHandleBytes = 64;
// Largest message NCCL sends at once (1 GiB), and the largest a transport must accept.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 30;
// Requests that may be outstanding on one comm at once (NCCL_NET_MAX_REQUESTS = 32, times 8 grouped
// sub-receives in NCCL up to 2.18). More are refused, not failed.
inline constexpr std::size_t kMaxRequests = 256;
// Receives in one group (the ceiling of DeviceProperties::max_recvs).
inline constexpr std::size_t kMaxGroupedReceives = 8;

// Kinds of memory, with the values of NCCL_PTR_*, used as bits in DeviceProperties::memory_kinds.
enum class MemoryKind : std::uint32_t { host = 0x1, cuda = 0x2, dmabuf = 0x4 };

// How NCCL uses a listener.
struct ListenOptions {
  // Only the first kShortHandleBytes of the handle reach the connector, after shorten_handle()
  // (transport/handle_envelope.h).
  bool short_handle = false;
};

// What a communicator requests for its connections.
struct ConnectOptions {
  int traffic_class = -1;  // -1: none
};

// Constant for a device's life, and the same in every process of a host: NCCL's topology search relies
// on it.
struct DeviceProperties {
  std::string name;                     // unique among devices, at most 255 characters, no XML specials
  std::string pci_path;                 // sysfs path of the PCI function; empty if there is none
  std::uint64_t guid = 0;               // identity of the chip
  std::uint32_t memory_kinds = 0x1;     // bits of MemoryKind that can be registered
  bool registration_is_global = false;  // a registration is valid on every comm of the device
  bool force_flush = false;             // GPU receives must be flushed whatever the GPU is
  int speed_mbps = 10000;
  int port = 0;
  float latency_us = 0;  // 0: NCCL's own estimate
  int max_comms = 65536;
  int max_recvs = 1;  // 1 ... kMaxGroupedReceives
  std::uint64_t max_message_bytes = kMaxMessageBytes;
  int rail_id = -1;   // -1: none
  int plane_id = -1;  // -1: none
};

// A registration of memory on a comm: each transport derives its own. Freed by Comm::deregister_memory.
class MemoryRegion {
 protected:
  MemoryRegion() = default;
  ~MemoryRegion() = default;
};

class Request {
 public:
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // Returns true once the operation is done. For a send: every byte is acknowledged, the buffer may be
  // reused. For a receive: every byte is placed, and sizes[i] is the number of bytes that arrived for the
  // i-th buffer. `sizes` may be null. An error is final for the comm. That a peer has ended is reported here
  // first: requests that are posted before end with the error.
  virtual Result<bool> test(int* sizes) = 0;

 protected:
  Request() = default;
  ~Request() = default;
};

// Without initial values: each receive would write those of a whole group.
struct ReceiveBuffer {
  void* data;
  std::size_t size;  // capacity; the message may be shorter
  int tag;
  MemoryRegion* region;
};

class Comm {
 public:
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  virtual ~Comm() = default;

  // Registers [data, data+size), which may overlap or repeat other registrations. Never null on success.
  virtual Result<MemoryRegion*> register_memory(void* data, std::size_t size, MemoryKind kind) = 0;
  // The same for memory exported as a DMA-BUF. The descriptor stays the caller's.
  virtual Result<MemoryRegion*> register_dmabuf(void* data, std::size_t size, MemoryKind kind,
                                                std::uint64_t offset, int fd) = 0;
  // After this returns, nothing reads or writes the memory, even with requests outstanding on it.
  virtual Status deregister_memory(MemoryRegion* region) = 0;
};

class SendComm : public Comm {
 public:
  // Returns null if the message cannot be posted now: call again. `size` may be 0. The buffer belongs to the
  // transport until test() returns true; by then the message may not have arrived yet. The destructor waits,
  // for a bounded time, until all have whose requests are done.
  virtual Result<Request*> isend(const void* data, std::size_t size, int tag, MemoryRegion* region) = 0;
};

class RecvComm : public Comm {
 public:
  // Posts a group of 1 ... max_recvs buffers. Messages are matched by tag within a group, and in order across
  // groups. Returns null if the group cannot be posted now: call again.
  virtual Result<Request*> irecv(std::span<const ReceiveBuffer> buffers) = 0;
  // Makes received bytes visible to the GPU. Returns null if there is nothing to wait for.
  virtual Result<Request*> iflush(std::span<const ReceiveBuffer> buffers) = 0;
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  // Returns null if no peer has connected yet: call again.
  virtual Result<std::unique_ptr<RecvComm>> accept() = 0;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceProperties& properties() const = 0;
  // Fills the whole handle with relocatable data.
  virtual Result<std::unique_ptr<Listener>> listen(std::span<std::byte, kHandleBytes> handle,
                                                   const ListenOptions& options) = 0;
  // Returns null if the connection is not made yet: call again with the same handle memory, which keeps the
  // state of the attempt. Completes without the peer's accept().
  virtual Result<std::unique_ptr<SendComm>> connect(std::span<std::byte, kHandleBytes> handle,
                                                    const ConnectOptions& options) = 0;
};

// Why a rail will not carry a job's traffic.
struct RailFault {
  enum class Kind : std::uint8_t {
    missing,  // its device is not there, or cannot be opened
    no_link,
    address_taken,
    gateway_silent
  };
  Kind kind = Kind::no_link;
  std::string rail;
  std::string what;  // text for users, like `fix`
  std::string fix;   // empty: `what` says it
};

// "no link: look for its cable"
[[nodiscard]] inline std::string describe(const RailFault& fault) {
  return fault.fix.empty() ? fault.what : fault.what + ": " + fault.fix;
}

// One kind of network. Devices live as long as the transport.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // One line for users: the rails, memory, progress mode and paths to GPU memory in use.
  [[nodiscard]] virtual std::string summary() const = 0;
  [[nodiscard]] virtual std::vector<Device*> devices() const = 0;
  // Returns the rails that could not be opened, and of the others' networks what can be checked without a
  // peer. Takes a fraction of a second if there is no fault, and some seconds otherwise. Call before there
  // are comms.
  virtual std::vector<RailFault> probe() { return {}; }
};

}  // namespace tfabric::transport
