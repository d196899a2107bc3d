// What both sides of rdma_cm share: the addresses of ports, the private data of a request, and the steps of a
// queue pair to the path that the connection manager has resolved.
#pragma once

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/endpoint.h"

namespace tfabric::rdma::cm {

class Address {
 public:
  // The address of a rail of this host, with any port number: the IP address of its GID on RoCE, the GID
  // itself on InfiniBand. `pkey_index` is its partition on InfiniBand.
  static Result<Address> of(const Rail& rail, std::uint16_t pkey_index);
  // The address of the peer's rail, as reached from a rail of this host, in the partition of the address
  // `own`.
  static Address of_peer(const Rail& from, const Address& own, const Gid& gid, std::uint16_t port);

  // librdmacm does not change the address.
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }

 private:
  [[nodiscard]] static Address make(const Gid& gid, const Rail& rail, std::uint16_t pkey, std::uint16_t port);
  sockaddr_storage storage_{};
  std::uint16_t pkey_ = 0;  // network byte order
};

// Where a comm's receiving end listens for requests of rdma_cm.
struct Listening {
  std::vector<std::uint16_t> ports;  // one for each rail
  std::uint64_t token = 0;           // requests must contain it
};

// The private data of a request, by which the listening comm identifies it.
struct RequestData {
  std::uint64_t token = 0;  // the listening comm's, from its answer
  std::uint8_t pair = 0;    // index of the comm's queue pair
};

// Both fields, little-endian. Bytes after them are ignored: InfiniBand's requests carry private data of a
// fixed length, padded with zeros.
inline constexpr std::size_t kRequestDataBytes = 9;

[[nodiscard]] std::array<std::byte, kRequestDataBytes> encode(const RequestData& request_data);
[[nodiscard]] std::optional<RequestData> parse_request_data(std::span<const std::byte> bytes);

// Makes one of the endpoint's queue pairs ready to receive and to send. Route, partition, MTU and packet
// numbers come from rdma_cm (the MTU at most that of both rails); timers, counts and access from the comm,
// and also service level and traffic class if they are not 0.
Status adopt(const Library& library, rdma_cm_id& id, Endpoint& endpoint, std::size_t pair);

}  // namespace tfabric::rdma::cm
