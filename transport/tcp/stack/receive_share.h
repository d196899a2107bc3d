// How large a window each connection of a rail may announce, so that all together stay within two bounds: the
// bytes that peers may have on their way to this host at a time (incast: many senders begin at once, and the
// queue of the last switch overflows), and the bytes that slow receivers may make us hold.
//
// An announced window is not taken back (RFC 9293 §3.8.6): a connection whose window is larger than its share
// announces no more until that much has arrived. So the bound on held bytes can be exceeded by windows that
// were announced while there were fewer connections: n connections that were opened one after the other hold
// at most held * (1 + ln n).
//
// Shared by connections of one engine; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace tfabric::stack {

struct ReceiveShareOptions {
  std::uint64_t under_way = 16u << 20;  // bytes, of the connections that receive
  std::uint64_t held = 1u << 30;        // bytes, of all connections
  // Every connection may announce this much: two segments keep acknowledgements coming (RFC 9293 §3.8.6.3).
  std::uint32_t least = 2 * 1460;
};

class ReceiveShare {
 public:
  // A connection's part in the share.
  class Member {
   public:
    // Null: there is no bound. The share must outlive its members.
    explicit Member(ReceiveShare* share) : share_(share) {
      if (share_ != nullptr) {
        share_->change_members(1);
      }
    }
    ~Member() {
      if (share_ != nullptr) {
        share_->change_members(-1);
      }
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // The connection has received payload.
    void on_data(Instant now) {
      if (share_ != nullptr) {
        share_->on_data(round_, now);
      }
    }
    // Returns what a connection with a buffer of this many bytes may announce and hold.
    [[nodiscard]] std::uint32_t limit(std::uint32_t buffer) const {
      return share_ == nullptr ? buffer : std::min(buffer, share_->limit());
    }

   private:
    ReceiveShare* share_;
    std::uint64_t round_ = 0;
  };

  explicit ReceiveShare(const ReceiveShareOptions& options) : options_(options) { divide(); }
  // The share of each connection, in bytes.
  [[nodiscard]] std::uint32_t limit() const { return limit_; }

 private:
  void change_members(int by) {
    connections_ += by;
    divide();
  }
  void on_data(std::uint64_t& round, Instant now) {
    if (now >= round_ends_) {
      begin_round(now);
    }
    if (round != round_) {
      round = round_;
      if (++receiving_ > divisor_) {
        divide();
      }
    }
  }
  void begin_round(Instant now);
  void divide();

  ReceiveShareOptions options_;
  std::int64_t connections_ = 0;
  std::uint64_t round_ = 0;
  Instant round_ends_{};
  std::uint64_t receiving_ = 0;  // connections that have received in this round
  std::uint64_t received_ = 0;   // connections that received in the round before
  std::uint64_t divisor_ = 1;    // connections among which `under_way` is divided
  std::uint32_t limit_ = 0;
};

}  // namespace tfabric::stack
