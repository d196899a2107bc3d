#include "transport/engine/byte_stream.h"

#include <cstddef>

namespace tfabric::engine {

const char* to_string(State state) {
  constexpr const char* kNames[] = {"CLOSED",     "SYN-SENT",   "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1",
                                    "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING",      "LAST-ACK",    "TIME-WAIT"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* to_string(ConnectionError error) {
  constexpr const char* kNames[] = {"no error",
                                    "the peer refused the connection",
                                    "the peer reset the connection",
                                    "timed out: the peer has not answered for too long",
                                    "the peer is unreachable",
                                    "aborted here"};
  return kNames[static_cast<std::size_t>(error)];
}

}  // namespace tfabric::engine
