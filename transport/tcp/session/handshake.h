// How two ranks find each other: the handle that the listener gives NCCL, and the first records on each flow.
//
// The listener's 128-byte handle says who listens where, and holds a token that proves that a connection was
// meant for this listener:
//
//   6 number of addresses | 7 max_recvs | 8 token | 24 process | 32 port | 34 the kernel's first port
//   72 addresses
//
// An address is a byte of flags (1 IPv6, 2 the kernel takes its connections, 4 and 8 the rail's role), then,
// if the kernel does and it is not the first such, the port for them, and the 4 or 16 bytes of the address:
// room for eight of our own TCP's with IPv4, or three with IPv6 and one of the kernel's with IPv4. A short
// handle has room for four, or one and one of the kernel's. transport/handle_envelope.h describes the other
// bytes. The connector opens flows to it, each of which
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
#include "transport/tcp/session/pairing.h"
#include "transport/witness/contact.h"

namespace tfabric::tcp {

// Grows with every change of the handle, the handshake or the records.
inline constexpr std::uint8_t kProtocolVersion = 6;
inline constexpr std::size_t kMaxHandleAddresses = 8;
// The most flows that a comm may have at once, whatever a peer asks for.
inline constexpr std::uint16_t kMaxFlows = 256;

using Token = std::array<std::byte, 16>;
using transport::attempt_of;
using transport::HandleBytes;
using transport::set_attempt;

// Where a listener can be reached over one of its process's rails.
struct Endpoint {
  net::IpAddress address;
  std::uint16_t kernel_port = 0;  // where the kernel takes connections to it; 0: our own TCP, at Handle::port
  RailRole role = RailRole::own;

  bool operator==(const Endpoint&) const = default;
};

struct Handle {
  Token token{};
  std::uint64_t process = 0;  // the listening process, for links between processes of one host; 0: none
  std::uint16_t port = 0;
  std::uint8_t max_recvs = 1;
  std::vector<Endpoint> endpoints;  // at least one, at most kMaxHandleAddresses
};

// Returns true if a handle with these endpoints has room for another one, if all have `room` bytes.
[[nodiscard]] bool has_room_for(const Handle& handle, const Endpoint& endpoint, std::size_t room);
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
