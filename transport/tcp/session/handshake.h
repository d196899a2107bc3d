// How two ranks find each other: the handle that the listener gives NCCL, and the first records on each flow.
//
// The listener's 128-byte handle says who listens where, and holds a token that proves that a connection was
// meant for this listener:
//
//   6 addresses, kernel's | 7 max_recvs | 8 token | 24 process | 32 port | 34 kernel port | 48 addresses (4 x
//   16)
//
// Byte 6 has the number of addresses in its lower half, and in the upper one a bit for each that says that
// the kernel takes its connections. The port for these is in the first two bytes of an IPv4 address, which
// are zero otherwise; an IPv6 address leaves no room, so all of them have the kernel port of the handle.
// transport/handle_envelope.h describes the other bytes. The connector opens flows to it, each of which
// begins with a hello; the listener's end answers with a welcome. Where a flow goes then, CommTable and
// FlowSink say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "transport/handle_envelope.h"
#include "transport/tcp/engine/flow.h"
#include "transport/tcp/lane/flow_reader.h"
#include "transport/tcp/net/address.h"
#include "transport/witness/contact.h"

namespace tfabric::tcp {

// Grows with every change of the handle, the handshake or the records.
inline constexpr std::uint8_t kProtocolVersion = 4;
inline constexpr std::size_t kMaxHandleAddresses = 4;
// The most flows that a comm may have at once, whatever a peer asks for.
inline constexpr std::uint16_t kMaxFlows = 256;

using Token = std::array<std::byte, 16>;
using transport::attempt_of;
using transport::HandleBytes;
using transport::set_attempt;

struct Handle {
  Token token{};
  std::uint64_t process = 0;  // the listening process, for links between processes of one host; 0: none
  std::uint16_t port = 0;
  std::uint8_t max_recvs = 1;
  std::vector<net::IpAddress> addresses;  // one for each rail of the device, at most 4
  // For each address, where the kernel takes connections to it; 0: our own TCP does, at `port`. All of IPv6
  // are equal.
  std::array<std::uint16_t, kMaxHandleAddresses> kernel_ports{};
};

void write_handle(const Handle& handle, HandleBytes bytes);
// Fails if the bytes were not written by a write_handle() of this version: the peer uses another network or
// another version of this plugin.
Result<Handle> read_handle(transport::ConstHandleBytes bytes);

enum class HelloKind : std::uint8_t {
  opens = 0,  // of the lanes that a comm begins with: the first to arrive makes the comm at the listener
  joins = 1   // the lane joins a comm that is in use
};

struct Hello {
  Token token{};           // from the handle
  std::uint64_t comm = 0;  // the connector's random number for this comm: its lanes belong together
  HelloKind kind = HelloKind::opens;
  std::uint16_t rail = 0;     // the connector's number for its rail
  stripe::LaneSerial serial;  // the connector's number for the lane, from 1
  witness::Contact witness;   // of the connector's process
};

enum class WelcomeStatus : std::uint8_t {
  ok = 0,
  gone =
      1  // the comm that the lane would join does not exist, or has ended: there is nothing to join any more
};

struct Welcome {
  WelcomeStatus status = WelcomeStatus::ok;
  stripe::LaneSerial serial;  // as in the hello
  witness::Contact witness;   // of the listener's process
};

// Return whole records, header included.
[[nodiscard]] std::vector<std::byte> encode(const Hello& hello);
[[nodiscard]] std::vector<std::byte> encode(const Welcome& welcome);
// Read a record's body; return nothing if it is malformed or of another protocol version.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> body);
[[nodiscard]] std::optional<Welcome> decode_welcome(std::span<const std::byte> body);

// Takes over flows whose hello has arrived: a listener, or a comm.
class FlowSink {
 public:
  // `reader` has the state of the flow's stream so far. On an error nothing has changed, and both stay with
  // the caller. Errc::remote: the comm has ended, and the connector is answered so.
  virtual Status take_flow(engine::Flow& flow, const Hello& hello,
                           std::unique_ptr<lane::FlowReader>& reader) = 0;

 protected:
  ~FlowSink() = default;
};

// The receive comms of an engine that further flows may join, by their listener's token and the connector's
// number for them. The listener itself may be closed by then. Used with the engine held.
class CommTable {
 public:
  using Key = std::pair<Token, std::uint64_t>;

  // Returns false if another comm has that key.
  bool add(const Key& key, FlowSink& comm) { return comms_.emplace(key, &comm).second; }
  void remove(const Key& key) { comms_.erase(key); }
  // Returns null if no comm has the key.
  [[nodiscard]] FlowSink* find(const Key& key) const {
    const auto found = comms_.find(key);
    return found == comms_.end() ? nullptr : found->second;
  }

 private:
  std::map<Key, FlowSink*> comms_;
};

}  // namespace tfabric::tcp
