// What another process can make this one hold, do or wait for over a control connection. Each number that a
// message carries has its own range besides, where the message is read (Fields).
#pragma once

#include <chrono>
#include <cstddef>

namespace tfabric::control {

// --- One message ---

// The largest message carries the handles of 4096 comms: 4096 texts of 256 digits, 1.06 MiB.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{2} << 20;
// The same message has some 4100 values; every value and every member's name counts.
inline constexpr std::size_t kMaxValues = 8192;
// The deepest message is a host's rails: an object, its array of rails, a rail, its array of addresses.
inline constexpr std::size_t kMaxDepth = 4;
// A name, an address or the version of something.
inline constexpr std::size_t kMaxTextBytes = 1024;
// A failure may quote fifty lines of a plugin's log. What is longer is cut off where it is sent, at a quarter
// of this: bytes that are no UTF-8 are replaced there, by three each.
inline constexpr std::size_t kMaxFailureBytes = std::size_t{64} << 10;

// --- One connection ---

// A side sends a result, the next request and a failure at most before it waits for an answer.
inline constexpr std::size_t kMaxWaitingMessages = 16;
// How much is read before the caller gets to look at its clock again: a peer that never pauses does not keep
// it from its time limit.
inline constexpr std::size_t kReadAtOnceBytes = std::size_t{256} << 10;
// A message fits the socket's buffer unless the peer has stopped reading. Covers the whole message.
inline constexpr auto kSendTime = std::chrono::seconds(10);

// --- Connections that have not shown the token ---

// A greeting has a protocol version, a service and a token: about 120 bytes.
inline constexpr std::size_t kMaxGreetingBytes = 512;
// From the connection's arrival to the end of its greeting. A client sends it at once, so that the time
// covers the loss of a few segments.
inline constexpr auto kGreetingTime = std::chrono::seconds(5);
// When one more arrives, the one that has waited longest is dropped. A client's greeting needs one round
// trip, so 64 are enough up to 64 strangers a round trip.
inline constexpr std::size_t kMaxGuests = 64;
// How many refused connections are reported, a line each. A port scanner must not fill a log.
inline constexpr std::size_t kMaxRefusalLines = 16;

}  // namespace tfabric::control
