// Writes packets as a pcapng file (draft-ietf-opsawg-pcapng), for Wireshark and tshark: raw IP packets, of
// which the payload may be left out, in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tfabric::observe {

class Pcapng {
 public:
  // `application`: what has written it; `comment`: about the whole; empty: not said.
  explicit Pcapng(std::string_view application = {}, std::string_view comment = {});

  // Returns the number of a further interface.
  std::uint32_t add_interface(std::string_view name, std::string_view description = {});
  struct Packet {
    std::uint32_t interface = 0;
    std::uint64_t time = 0;            // nanoseconds since 1970, or since any moment
    std::span<const std::byte> bytes;  // from the IP header on
    std::size_t length = 0;            // of the whole packet, of which `bytes` is the beginning
    bool outbound = false;
    std::string_view comment = {};
  };
  void add(const Packet& packet);
  // Of an interface: packets that are not in the file although it could have had them.
  void add_missing(std::uint32_t interface, std::uint64_t time, std::uint64_t packets);

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return file_; }

 private:
  std::vector<std::byte> file_;
  std::uint32_t interfaces_ = 0;
};

}  // namespace tfabric::observe
