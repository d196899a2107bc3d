// How a comm is connected while it is already in use, and how it watches its peer.
//
// A comm exists before its ends are connected: NCCL gets the send comm as soon as the offer has been sent,
// and the receive comm with the answer. The rest of the meeting happens in the calls on the comm, and in the
// watcher's thread (OpenComms::join_all()). Until it is over, isend() returns "not now", and irecv() takes
// receives, which are announced afterwards. Used with the comm's turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::rdma {

class Endpoint;

// What the two processes say to each other about a comm, over the connection by which they have met: only if
// both know of it. Its text is encoded by who sends it.
struct Note {
  enum class Kind : std::uint8_t { introduction, question, answer } kind = Kind::introduction;
  std::vector<std::byte> body;
};

class Meeting {
 public:
  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  virtual ~Meeting() = default;

  // Continues as far as possible without blocking, and connects `endpoint` if that has not been done. Returns
  // true once both ends can receive. An error is final.
  virtual Result<bool> join(Endpoint& endpoint, Instant now) = 0;
  // After the meeting: returns an error with the reason if the peer has given up, or is_cut_off().
  virtual Status watch(Instant now) = 0;
  // This end has failed: sends the reason to the peer if possible.
  virtual void give_up(const std::string& reason) = 0;

  // Returns where the peer was reached, or has come from; empty: that is not known.
  [[nodiscard]] virtual std::string peer() const { return {}; }
  // Returns whether watch() has found that the connection to the peer carries nothing any more, and the peer
  // has not given up: it may have gone (departure.h).
  [[nodiscard]] virtual bool is_cut_off() const { return false; }
  // Returns whether that is so because its kernel has closed it: the peer's process has ended, or left the
  // comm, without a word, if it has gone.
  [[nodiscard]] virtual bool peer_has_left() const { return false; }
  // The descriptor on which the peer's notes arrive, the same for the meeting's life; -1: none.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  // Returns whether the peer takes notes.
  [[nodiscard]] virtual bool takes_notes() const { return false; }
  // Sends a note, unless others still wait to be sent. A peer that takes none gets none.
  virtual void send_note(Note::Kind /*kind*/, std::span<const std::byte> /*body*/) {}
  // Returns a note that watch() or join() has read.
  [[nodiscard]] virtual std::optional<Note> take_note() { return std::nullopt; }
  // Returns whether the kernel of the peer's host has acknowledged all notes.
  [[nodiscard]] virtual bool kernel_answers() const { return true; }
};

// Decides when to probe a silent peer.
//
// An end that waits for data or for an announcement has no work outstanding that could fail, so it would wait
// for a dead peer forever. After `silence` without a completion, each queue pair carries an empty write; if
// it is not acknowledged, it fails like any other after timeout and retries. The clock is read only once in
// kQuietTurns turns without a completion, so that it costs nothing on a busy comm.
class Heartbeat {
 public:
  static constexpr std::uint32_t kQuietTurns = 256;

  Heartbeat(Duration silence, Instant (*now)()) : silence_(silence), now_(now) {}

  void set_silence(Duration silence) { silence_ = silence; }
  void completed() {
    turns_ = 0;
    since_ = kNever;
  }
  // Call for a turn without a completion. Returns true if the peer must be probed now.
  bool quiet_turn() {
    if (++turns_ < kQuietTurns) {
      return false;
    }
    turns_ = 0;
    const Instant now = now_();
    if (since_ == kNever) {
      since_ = now;
    }
    if (now - since_ < silence_) {
      return false;
    }
    since_ = now;
    return true;
  }

 private:
  Duration silence_;
  Instant (*now_)();
  std::uint32_t turns_ = 0;
  Instant since_ = kNever;
};

}  // namespace tfabric::rdma
