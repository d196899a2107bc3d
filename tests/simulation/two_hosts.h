// Two hosts on one wire, in virtual time: each an interface with one TCP connection to the other, driven as
// the engine drives them. Frames reach both hosts, and a test may change a host's MAC address or put a frame
// of a third host on the wire.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

class WiredHost final : public net::UpperLayer {
 public:
  WiredHost(const net::MacAddress& mac, const net::IpAddress& address, const net::IpAddress& peer);

  void connect(Instant now);
  // Gives the host another MAC address, of which it says nothing: it keeps what it knows of its neighbour.
  void change_mac(const net::MacAddress& mac, const net::MacAddress& neighbour, Instant now);
  // From now on it always has something to send.
  void send_on() { sends_ = true; }
  void receive(const std::vector<std::byte>& frame, Instant now);
  // Timers and output; the frames go to `wire`.
  void turn(std::deque<std::vector<std::byte>>& wire, Instant now);

  [[nodiscard]] net::Interface& interface() { return *interface_; }
  [[nodiscard]] stack::Connection* connection() const { return connection_.get(); }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] Instant last_received() const { return last_received_; }
  [[nodiscard]] bool has_progress(const net::IpAddress& neighbour, Instant since) const override;

 private:
  void open_interface(const net::MacAddress& mac);
  void output(std::deque<std::vector<std::byte>>& wire, Instant now);

  net::IpAddress address_, peer_;
  std::unique_ptr<net::Interface> interface_;
  std::unique_ptr<stack::Connection> connection_;
  net::LinkHeader header_{};
  std::optional<std::uint32_t> header_generation_;
  std::uint64_t received_ = 0;
  Instant last_received_{};
  bool sends_ = false;
};

class TwoHosts {
 public:
  // IPv4 or IPv6. `sender`: the host that sends all the time once they are connected; 2: none does.
  TwoHosts(bool v4, std::size_t sender);

  void run(Duration time);
  // Runs for so long, and returns the longest time in which the other host received nothing.
  Duration longest_pause(Duration time);
  [[nodiscard]] WiredHost& host(std::size_t i) { return *hosts_[i]; }
  [[nodiscard]] const net::IpAddress& address(std::size_t i) const { return addresses_[i]; }
  [[nodiscard]] Instant now() const { return now_; }
  void put(std::vector<std::byte> frame) { wire_.push_back(std::move(frame)); }
  // Host `i` gets the MAC address 02:00:00:00:00:99.
  void change_mac(std::size_t i);

 private:
  std::size_t sender_;
  std::array<net::IpAddress, 2> addresses_;
  std::array<std::unique_ptr<WiredHost>, 2> hosts_;
  std::deque<std::vector<std::byte>> wire_;
  Instant now_{std::chrono::hours(1)};
};

// The MAC address of host `i`, to begin with.
[[nodiscard]] constexpr net::MacAddress mac_of(std::size_t i) {
  return {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(i + 1)}};
}
// An ARP reply, or an advertisement with `flags`, which says that host `i` has `mac`, to all hosts or to one.
[[nodiscard]] std::vector<std::byte> claim(const net::IpAddress& host, const net::MacAddress& mac,
                                           const net::IpAddress& to, const net::MacAddress& to_mac,
                                           std::uint8_t flags);

}  // namespace tfabric::simulation
