// The objects of the made-up provider, for its own two files.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tests/unit/rdma/pairs/made_up_verbs.h"

namespace tfabric::rdma::test {

struct MadeUpVerbs::Hca : ibv_context {
  MadeUpVerbs* provider = nullptr;
  Instant silent_until{};
  bool dead = false;
  bool has_gid = true;
  std::optional<std::uint8_t> gid_index;  // of its GID; nothing: whatever is asked for
};

struct MadeUpVerbs::Mr : ibv_mr {
  bool remote = false;
};

struct MadeUpVerbs::Cq : ibv_cq {
  struct Entry {
    ibv_wc wc{};
    std::uint32_t frees_sends = 0, frees_receives = 0;
  };
  std::deque<Entry> entries;
  std::size_t promised = 0;  // entries that are on their way
};

struct MadeUpVerbs::Posted {
  ibv_send_wr wr{};
  ibv_sge sge{};
  std::vector<std::byte> inlined;
};

// What is on the wire: it holds the bytes, which were read when it was sent.
struct MadeUpVerbs::Packet {
  const Hca *from = nullptr, *to = nullptr;
  std::uint32_t sender = 0, receiver = 0;  // queue pairs
  std::uint64_t number = 0;                // of the work request
  ibv_send_wr wr{};
  std::vector<std::byte> bytes;
  std::size_t first_part = 0;  // bytes that arrive before the others
  bool first_part_is_there = true;
};

struct MadeUpVerbs::Qp : ibv_qp {
  Hca* hca = nullptr;
  ibv_qp_cap cap{};
  ibv_qp_attr attributes{};  // with which it was connected
  std::uint32_t peer = 0;
  std::deque<Posted> sends;                            // not acknowledged
  std::uint64_t acknowledged = 0, sent = 0, last = 0;  // numbers of work requests
  std::uint64_t expected = 0;                          // of the peer's: so many have come
  std::deque<std::uint64_t> receives;
  std::uint32_t sends_taken = 0, receives_taken = 0;  // of what the queues hold
  std::uint32_t unsignalled = 0;                      // done, and no completion tells of it yet
  int retries = 0;
  bool watched = false;    // a time-out will come
  Instant last_arrival{};  // in order
  Instant last_entry{};    // of its completions, in order
};

}  // namespace tfabric::rdma::test
