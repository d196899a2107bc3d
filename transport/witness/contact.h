// Where the witness of a process can be reached. It travels in the handshakes of a transport, but for the
// token.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/siphash.h"
#include "base/wire_codec.h"
#include "config/address.h"

namespace tfabric::witness {

using Token = SipHashKey;

struct Contact {
  std::uint64_t process = 0;  // a random number of the process; 0: it has no witness
  config::IpBytes address{};
  std::uint16_t port = 0;
  // The key that both ends of such a handshake derive from its secret, by which they know each other.
  Token token{};

  [[nodiscard]] bool exists() const { return process != 0 && port != 0; }
  friend bool operator==(const Contact&, const Contact&) = default;
};

inline constexpr std::size_t kContactBytes = 26;

// All but the token. Any bytes are a contact, which may lead nowhere; zeros are that of a process without a
// witness.
bool lay_out(auto&& wire, WireMessage<Contact> auto& contact) {
  return wire.u64(contact.process).bytes(contact.address).u16(contact.port).ok();
}

}  // namespace tfabric::witness
