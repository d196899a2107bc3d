// The handshake of a lane: hello, welcome, proof. Each end shows that it has the handle's token, and the
// token does not travel.
//
//   K: the token. M: SipHash-2-4 with 128 bits of output, under K. `|`: one after the other. Little-endian.
//
//   hello    0 version | 1 kind | 2 rail | 4 serial | 8 comm | 16 id | 24 mode | 25 1: announce | 26 port
//            28 key check | 32 nonce | 48 contact | 74 zero | 80 tag1 = M(01 | "C" | the bytes before it)
//   welcome  0 version | 1 status | 2 mode | 3 direct | 4 serial | 8 nonce | 24 contact | 50 zero
//            56 tag2 = M(02 | "S" | hello | the bytes before it)
//   proof    0 tag3 = M(03 | "C" | tag1 | tag2)
//
// `id`, the first 8 bytes of M(00 | "id"), names the token to those who have it. The hello shows that the
// connector has it, but the hello of another connection would do so, too; tag3 answers the listener's nonce,
// which no other connection has had. So a lane exists for the listener's end with the proof, which is the
// connector's first record after the welcome, and for the connector's end with the welcome, which answers its
// own nonce. The connector sends nothing before it anyway, so the proof costs no round trip.
//
// Whoever has only seen handshakes cannot make one, nor take part in a lane by repeating any. Whoever can
// change the stream of a lane that is open can change what it carries: mode 0 seals nothing. Other modes, the
// key check, and another M with them, are for lanes that are sealed: planned, refused here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/siphash.h"
#include "transport/stripe/message.h"
#include "transport/witness/contact.h"

namespace tfabric::session {

// Grows with every change of the handle, the handshake or the records.
inline constexpr std::uint8_t kProtocolVersion = 9;

using Token = SipHashKey;
using Tag = SipHashTag;
using Nonce = std::array<std::byte, 16>;  // random, of one connection

[[nodiscard]] std::uint64_t token_id(const Token& token);
// The connector's nonce for a lane: `comm` is random, and of the comm alone.
[[nodiscard]] Nonce nonce_of_lane(const Nonce& comm, stripe::LaneSerial serial);

enum class HelloKind : std::uint8_t {
  opens = 0,  // of the lanes that a comm begins with: the first to be proved makes the comm at the listener
  joins = 1   // the lane joins a comm that is in use
};

struct Hello {
  Token token{};           // of the handle; what is read has the id instead
  std::uint64_t id = 0;    // of the token; what is written takes it from there
  std::uint64_t comm = 0;  // the connector's random number for this comm: its lanes belong together
  HelloKind kind = HelloKind::opens;
  std::uint16_t rail = 0;     // the connector's number for its rail
  stripe::LaneSerial serial;  // the connector's number for the lane, from 1
  Nonce nonce{};
  // That the lane's connection begins at, of a kernel's TCP; 0: none. If it arrives from another one, a proxy
  // is on the way, or what changes addresses only and is taken for one (engine::Flow::set_direct()).
  std::uint16_t port = 0;
  // The comm's receives are to be announced, whether they are grouped or not (lane/announcements.h).
  bool announce = false;
  witness::Contact witness;  // of the connector's process
};

enum class WelcomeStatus : std::uint8_t {
  ok = 0,
  gone = 1  // the comm that the lane would join has ended: there is nothing to join any more
};

struct Welcome {
  WelcomeStatus status = WelcomeStatus::ok;
  bool direct = false;        // the connection arrives from the hello's port
  stripe::LaneSerial serial;  // as in the hello
  Nonce nonce{};
  witness::Contact witness;  // of the listener's process
};

// The records' bodies, as they travel.
using HelloBytes = std::array<std::byte, 96>;
using WelcomeBytes = std::array<std::byte, 72>;

// Signed with the hello's token.
[[nodiscard]] HelloBytes encode(const Hello& hello);
// Returns nothing if the body is malformed or of another protocol version. It may be signed with anything.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> body);
[[nodiscard]] bool is_signed(const HelloBytes& hello, const Token& token);

// Signed with the token, as the answer to this hello.
[[nodiscard]] WelcomeBytes encode(const Welcome& welcome, const HelloBytes& hello, const Token& token);
// Returns nothing if the body is malformed, of another protocol version, or no answer to this hello by an end
// that has the token.
[[nodiscard]] std::optional<Welcome> decode_welcome(std::span<const std::byte> body, const HelloBytes& hello,
                                                    const Token& token);

[[nodiscard]] Tag proof_of(const HelloBytes& hello, const WelcomeBytes& welcome, const Token& token);
// Compares in constant time.
[[nodiscard]] bool is_proof(std::span<const std::byte> body, const Tag& expected);

// What two processes show each other's witnesses (transport/witness/) who have met in a comm of this token.
// The same at both ends.
[[nodiscard]] witness::Token witness_key(const Token& token, std::uint64_t one_process,
                                         std::uint64_t other_process);

}  // namespace tfabric::session
