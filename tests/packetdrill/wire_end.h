// The other end of the wire that a host under test is on: IP packets in and out of a memif port, and the
// answers to ARP that any neighbour would give.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/tcp/net/address.h"
#include "transport/tcp/port/port.h"

namespace tfabric::drill {

class WireEnd {
 public:
  // Makes `socket`. DPDK must be running.
  static Result<std::unique_ptr<WireEnd>> open(const std::string& socket, std::uint16_t mtu);

  [[nodiscard]] bool link_up() const { return port_->link_up(); }
  // Where packets are sent.
  void set_host(const net::MacAddress& host) { host_ = host; }
  // False: the wire does not take it.
  bool send(std::span<const std::byte> packet);
  // The IP packets that have come since.
  std::vector<std::vector<std::byte>> receive();

 private:
  explicit WireEnd(std::unique_ptr<port::Port> port) : port_(std::move(port)) {}

  bool send_frame(std::span<const std::byte> header, std::span<const std::byte> body);
  void answer_arp(std::span<const std::byte> frame);

  std::unique_ptr<port::Port> port_;
  net::MacAddress host_;
};

}  // namespace tfabric::drill
