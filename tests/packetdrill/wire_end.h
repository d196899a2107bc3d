// The other end of the wire that a host under test is on: its gateway, with IP packets in and out of a memif
// port.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::drill {

class WireEnd {
 public:
  // Makes `socket`. DPDK must be running.
  static Result<std::unique_ptr<WireEnd>> open(const std::string& socket, std::uint16_t mtu,
                                               const net::Prefix& gateway);

  [[nodiscard]] bool link_up() const { return port_->link_up(); }
  // Where packets are sent.
  void set_host(const net::MacAddress& host) { host_ = host; }
  // Returns false if the wire does not take it.
  bool send(std::span<const std::byte> packet);
  // Returns the IP packets that have arrived since the last call.
  std::vector<std::vector<std::byte>> receive();

 private:
  WireEnd(std::unique_ptr<nic::Port> port, net::Interface gateway)
      : port_(std::move(port)), gateway_(std::move(gateway)) {}

  bool send_frame(std::span<const std::byte> header, std::span<const std::byte> body);

  std::unique_ptr<nic::Port> port_;
  net::Interface gateway_;  // answers ARP
  net::MacAddress host_;
};

}  // namespace tfabric::drill
