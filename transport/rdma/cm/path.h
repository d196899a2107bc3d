// Where a port is for the connection manager: on RoCE its GID's IP address, on InfiniBand the GID itself.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/rdma/cm/abi.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/endpoint.h"

namespace tfabric::rdma::cm {

class Address {
 public:
  // Of a rail of this host, at any port. `pkey_index`: its partition, on InfiniBand.
  static Result<Address> of(const Rail& rail, std::uint16_t pkey_index);
  // Of the peer's, as it is reached from a rail of this host, in the partition of the address `own`.
  static Address of_peer(const Rail& from, const Address& own, const Gid& gid, std::uint16_t port);

  // For librdmacm, which does not change it.
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }

 private:
  [[nodiscard]] static Address make(const Gid& gid, const Rail& rail, std::uint16_t pkey, std::uint16_t port);
  sockaddr_storage storage_{};
  std::uint16_t pkey_ = 0;  // network byte order
};

// Where a comm's receiving end listens for the connection manager's requests.

struct Listening {
  std::vector<std::uint16_t> ports;  // of its rails
  std::uint64_t token = 0;           // which requests must bring
};

// What a request of the connection manager brings, by which the listening comm knows whose it is.

struct Greeting {
  std::uint64_t token = 0;  // the listening comm's, as its answer told
  std::uint8_t pair = 0;    // which queue pair of the comm is meant
};

// Both little-endian, one after the other. What follows is not looked at: InfiniBand's requests carry private
// data of one length, the rest of which is zero.
inline constexpr std::size_t kGreetingBytes = 9;

[[nodiscard]] std::array<std::byte, kGreetingBytes> encode(const Greeting& greeting);
[[nodiscard]] std::optional<Greeting> parse_greeting(std::span<const std::byte> bytes);

// A queue pair takes the path that the connection manager has found.

// Makes one of the endpoint's queue pairs ready to receive and to send. Route, partition, MTU and packet
// numbers are the connection manager's, the MTU at most those of both rails; timers, counts and access are
// the comm's, and so are a service level and a traffic class other than 0.
Status adopt(const Library& library, Id& id, Endpoint& endpoint, std::size_t pair);

}  // namespace tfabric::rdma::cm
