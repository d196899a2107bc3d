#include "tests/unit/stack/scripted_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

namespace tfabric::stack::test {
namespace {

constexpr std::array<std::byte, 1 << 20> kZeros{};
constexpr Ports kPorts{4000, 7};

std::string text_of(const SegmentOut& segment) {
  std::string text;
  constexpr std::pair<std::uint8_t, char> kLetters[] = {
      {flag::syn, 'S'}, {flag::fin, 'F'}, {flag::rst, 'R'}, {flag::psh, 'P'}, {flag::ack, 'A'}};
  for (const auto& [bit, letter] : kLetters) {
    if ((segment.flags & bit) != 0) {
      text += letter;
    }
  }
  text += fmt::format(" {}", segment.seq - kIss);
  if (segment.payload_size > 0) {
    text += fmt::format(":{}", segment.seq + segment.payload_size - kIss);
  }
  if ((segment.flags & flag::ack) != 0) {
    text += fmt::format(" ack {}", segment.ack - kPeerIss);
  }
  return text;
}

}  // namespace

ScriptedPeer::~ScriptedPeer() {
  connection_.reset();
  CHECK(retained == 0);
}

PayloadOps ScriptedPeer::ops() {
  return {.context = this,
          .retain =
              [](void* self, Payload&) {
                auto& peer = *static_cast<ScriptedPeer*>(self);
                peer.retained += peer.memory ? 1 : 0;
                return peer.memory;
              },
          .release = [](void* self, Payload&) { --static_cast<ScriptedPeer*>(self)->retained; }};
}

Options ScriptedPeer::plain() {
  Options options;
  options.mss = 1000;
  options.receive_buffer = 60000;  // no window scale
  options.timestamps = false;
  options.sack = false;
  options.keepalive_idle = Duration::zero();
  options.min_rto = options.initial_rto;  // the handshake takes no time at all
  return options;
}

void ScriptedPeer::connect() { connection_ = Connection::connect(options_, ops(), kPorts, kIss, now_); }

void ScriptedPeer::accept() {
  SegmentIn syn = segment(flag::syn);
  syn.flags |= syn_flags;
  syn.seq = kPeerIss;
  syn.ack = Seq();
  connection_ = Connection::accept(options_, ops(), syn, kIss, now_);
}

void ScriptedPeer::establish() {
  accept();
  REQUIRE(sent() == "SA 0 ack 1");
  acknowledge(0);
  REQUIRE(sent().empty());
  REQUIRE(state() == State::established);
}

void ScriptedPeer::reach(State target) {
  if (target == State::syn_sent) {
    connect();
    REQUIRE(sent() == "S 0");
    return;
  }
  if (target == State::syn_received) {
    accept();
    REQUIRE(sent() == "SA 0 ack 1");
    return;
  }
  establish();
  if (target == State::close_wait || target == State::last_ack) {
    hand(segment(flag::fin | flag::ack));
    REQUIRE(sent() == "A 1 ack 2");
  }
  if (target != State::established && target != State::close_wait) {
    connection_->close();
    REQUIRE(sent() == fmt::format("FA 1 ack {}", target == State::last_ack ? 2 : 1));
  }
  if (target == State::fin_wait_2 || target == State::time_wait) {
    hand(segment());
  }
  if (target == State::closing || target == State::time_wait) {
    SegmentIn fin = segment(flag::fin | flag::ack);
    fin.ack = target == State::closing ? kIss + 1 : fin.ack;
    hand(fin);
    REQUIRE(sent() == "A 2 ack 2");
  }
  REQUIRE(state() == target);
}

SegmentIn ScriptedPeer::segment(std::uint8_t flags, std::uint32_t payload) const {
  SegmentIn segment;
  segment.source_port = kPorts.remote;
  segment.destination_port = kPorts.local;
  segment.seq = peer_next;
  segment.ack = connection_ ? connection_->info().snd_nxt : Seq();
  segment.flags = flags;
  segment.window = window;
  if ((flags & flag::syn) != 0) {
    segment.mss = options_.mss;
    segment.window_scale = 0;
    segment.sack_permitted = options_.sack;
  }
  segment.has_timestamps = options_.timestamps;
  segment.ts_val = ts_val;
  segment.ts_ecr = ts_ecr;
  segment.payload = {kZeros.data(), payload, nullptr};
  return segment;
}

void ScriptedPeer::hand(const SegmentIn& segment) {
  connection_->on_segment(segment, now_);
  while (reading && !connection_->readable().empty()) {
    const auto n = static_cast<std::uint32_t>(connection_->readable().size());
    received += n;
    connection_->consume(n);
  }
  connection_->settle();
  if (segment.seq == peer_next) {
    peer_next += segment.payload.size + ((segment.flags & flag::fin) != 0 ? 1u : 0u);
  }
}

void ScriptedPeer::acknowledge(std::uint32_t bytes, std::uint16_t field) {
  SegmentIn ack = segment();
  ack.ack = kIss + 1 + bytes;
  ack.window = field;
  hand(ack);
}

void ScriptedPeer::report(std::uint32_t acked, std::initializer_list<Block> blocks) {
  SegmentIn ack = segment();
  ack.ack = kIss + 1 + acked;
  for (const Block& block : blocks) {
    ack.sack[ack.sack_count++] = {kIss + 1 + block.left, kIss + 1 + block.right};
  }
  hand(ack);
}

void ScriptedPeer::write(std::uint32_t bytes) { REQUIRE(connection_->send({kZeros.data(), bytes, nullptr})); }

void ScriptedPeer::advance(Duration time) {
  now_ += time;
  connection_->on_time(now_);
}

std::string ScriptedPeer::run(Duration time) {
  const Instant until = now_ + time;
  std::string text;
  while (connection_->next_deadline() <= until) {
    now_ = std::max(now_, connection_->next_deadline());
    connection_->on_time(now_);
    if (const std::string line = sent(); !line.empty()) {
      text += (text.empty() ? "" : ", ") + line;
    }
  }
  now_ = until;
  return text;
}

std::string ScriptedPeer::sent() {
  std::string text;
  SegmentOut segment;
  for (int i = 0; connection_->next_segment(segment, now_); ++i) {
    REQUIRE(i < 10000);
    text += (text.empty() ? "" : ", ") + text_of(segment);
    last_ = segment;
  }
  return text;
}

}  // namespace tfabric::stack::test
