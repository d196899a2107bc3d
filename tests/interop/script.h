// The steps of one end of an interop stream; the script of the other end matches it.
//
//   send:64K  receive:64K  both:1M  push:1K  fin  eof  full  idle:500  reset  error:reset  stream:5000  drain
//
// The first step begins with the connection, each other one when the one before it is done. Amounts are bytes
// (K, M) or, for idle and stream, milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tfabric::interop {

enum class Verb : std::uint8_t {
  send,     // so many bytes, until the peer has acknowledged them (the kernel's end: until it has taken them)
  push,     // so many bytes, without waiting
  receive,  // so many bytes; what comes after them stays unread
  both,     // so many bytes each way at the same time
  fin,      // nothing more is sent; receiving goes on
  eof,      // the peer's FIN, and nothing before it
  full,     // reads nothing until our window is closed; not of the kernel's end, which does not tell
  idle,     // neither reads nor writes for so long
  reset,    // the end, by RST
  stream,   // as many bytes as the peer takes in so long
  drain,    // as many bytes as come before the peer's FIN
  error,    // waits until the connection ends with the error named: reset, refused, timed_out
};

struct Step {
  Verb verb = Verb::eof;
  std::uint64_t amount = 0;
  std::string word;  // of error
  std::string text;  // as it was given
};

// Returns nothing if one of the words is no step.
[[nodiscard]] std::optional<std::vector<Step>> parse_script(const std::vector<std::string>& words);

// Prints a line for the program that runs this end: how far it is.
void announce(std::string_view what);

}  // namespace tfabric::interop
