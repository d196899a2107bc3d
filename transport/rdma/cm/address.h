// Where a port is for the connection manager: on RoCE its GID's IP address, on InfiniBand the GID itself.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "base/result.h"
#include "transport/rdma/cm/abi.h"
#include "transport/rdma/lane/connection.h"

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

}  // namespace tfabric::rdma::cm
