// The connections of the witness: dialling, accepting, and what arrives on them.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "transport/bootstrap/socket.h"
#include "transport/witness/witness.h"

namespace tfabric::witness {
namespace {

// The most connections and records that are taken at once; the next poll takes more.
constexpr int kMaxAccepted = 64;
constexpr int kMaxRecords = 16;

}  // namespace

void Witness::take_events() {
  constexpr int kMaxEvents = 64;
  std::array<epoll_event, kMaxEvents> events;
  const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t serial = events[static_cast<std::size_t>(i)].data.u64;
    if (serial == 0) {
      accept_strangers();
    } else if (const auto connection = connections_.find(serial); connection != connections_.end()) {
      on_event(serial, connection->second);
    }
  }
}

void Witness::accept_strangers() {
  for (int i = 0; i < kMaxAccepted; ++i) {
    Result<std::optional<bootstrap::AcceptedSocket>> accepted = bootstrap::accept_tcp(listening_.get());
    if (!accepted || !*accepted) {
      return;
    }
    limit_strangers();
    add_connection({.channel = Channel(std::move((*accepted)->socket)), .stage = Stage::stranger});
  }
}

// Returns the connection's serial number; 0 if the kernel cannot watch it.
std::uint64_t Witness::add_connection(Connection connection) {
  const std::uint64_t serial = ++last_serial_;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = serial}};
  if (connection.stage == Stage::dialling) {
    event.events |= EPOLLOUT;
  }
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.channel.descriptor(), &event) != 0) {
    return 0;
  }
  connection.since = clock_;
  connections_.emplace(serial, std::move(connection));
  return serial;
}

void Witness::dial(Entry& entry, Purpose purpose) {
  if (purpose == Purpose::stay && !make_room()) {
    back_off(entry);
    return;
  }
  Result<PrivateDescriptor> socket = bootstrap::dial_tcp({entry.contact.address, entry.contact.port});
  if (socket) {
    entry.attempt = add_connection({.channel = Channel(std::move(*socket)),
                                    .stage = Stage::dialling,
                                    .purpose = purpose,
                                    .process = entry.peer->process()});
  }
  if (entry.attempt == 0) {
    back_off(entry);
  }
}

void Witness::on_event(std::uint64_t serial, Connection& connection) {
  if (connection.stage == Stage::dialling) {
    on_connected(serial, connection);
    return;
  }
  if (connection.stage != Stage::open) {
    on_greeting(serial, connection);
    return;
  }
  for (int i = 0; i < kMaxRecords; ++i) {
    const auto bytes = connection.channel.receive(kRecordBytes);
    if (bytes.empty()) {
      break;
    }
    if (const auto record = decode_record(bytes.first<kRecordBytes>())) {
      on_record(connection, *record);
    }
  }
  if (connection.channel.life() != Life::open) {
    drop(serial);
  }
}

void Witness::on_greeting(std::uint64_t serial, Connection& connection) {
  const auto bytes =
      connection.channel.receive(connection.stage == Stage::proving ? sizeof(SipHashTag) : kOpeningBytes);
  if (bytes.empty()) {
    if (connection.channel.life() != Life::open) {
      drop(serial);
    }
  } else if (connection.stage == Stage::proving) {
    on_proof(serial, connection, bytes);
  } else if (connection.stage == Stage::stranger) {
    on_stranger(serial, connection, bytes.first<kOpeningBytes>());
  } else {
    on_opening(serial, connection, bytes.first<kOpeningBytes>());
  }
}

void Witness::on_connected(std::uint64_t serial, Connection& connection) {
  const auto entry = peers_.find(connection.process);
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = serial}};
  if (!connection.channel.finish_dialling() || entry == peers_.end() ||
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.channel.descriptor(), &event) != 0) {
    drop(serial);
    return;
  }
  Opening ours{.purpose = connection.purpose, .process = contact_.process, .who = options_.self};
  // The one that the peer has had, else the newest first: the peer may not have that one yet.
  const std::vector<Token>& keys = entry->second.keys;
  const std::size_t age = entry->second.openings++ % keys.size();
  connection.greeting = std::make_unique<Greeting>(Greeting{.key = keys[keys.size() - 1 - age], .who = {}});
  const bool has_nonce = fill_secret(ours.nonce).ok();
  connection.greeting->opening = encode(ours, connection.greeting->key);
  if (!has_nonce || !connection.channel.send(connection.greeting->opening)) {
    drop(serial);
    return;
  }
  connection.stage = Stage::greeting;
  if (connection.purpose == Purpose::check) {
    entry->second.standing.check_taken();
  }
}

// The answer to ours.
void Witness::on_opening(std::uint64_t serial, Connection& connection,
                         std::span<const std::byte, kOpeningBytes> bytes) {
  const auto found = peers_.find(connection.process);
  const std::optional<Opening> opening = decode_opening(bytes);
  const Greeting& ours = *connection.greeting;
  if (found == peers_.end() || !opening || opening->process != connection.process ||
      !is_signed(bytes, ours.key, &ours.opening)) {
    drop(serial);  // another process has that port now
    return;
  }
  Entry& entry = found->second;
  if (connection.purpose == Purpose::check) {
    entry.standing.refute();
    TF_INFO(
        "NET/tfabric: a connection to {} was closed, though the process runs: something between the hosts "
        "ends "
        "connections (it only watches the process, and is made again)",
        to_string(opening->who));
    drop(serial);
    return;
  }
  if (!connection.channel.send(proof_of(ours.opening, bytes, ours.key))) {
    drop(serial);
    return;
  }
  connection.stage = Stage::open;
  entry.attempt = 0;
  const std::unique_ptr<Greeting> greeting = std::move(connection.greeting);
  attach(entry, serial, *greeting, opening->who);
}

void Witness::on_stranger(std::uint64_t serial, Connection& connection,
                          std::span<const std::byte, kOpeningBytes> bytes) {
  const std::optional<Opening> opening = decode_opening(bytes);
  const auto found = opening ? peers_.find(opening->process) : peers_.end();
  if (found == peers_.end() || (opening->purpose == Purpose::stay && contact_.process < opening->process)) {
    drop(serial);
    return;
  }
  const Entry& entry = found->second;
  const auto key = std::find_if(entry.keys.rbegin(), entry.keys.rend(),
                                [&](const Token& each) { return is_signed(bytes, each); });
  Opening ours{.purpose = opening->purpose, .process = contact_.process, .who = options_.self};
  if (key == entry.keys.rend() ||
      (opening->purpose == Purpose::stay && entry.connection == 0 && !make_room()) ||
      !fill_secret(ours.nonce)) {
    drop(serial);
    return;
  }
  Greeting greeting{.key = *key, .process = opening->process, .who = opening->who};
  std::copy(bytes.begin(), bytes.end(), greeting.opening.begin());
  const OpeningBytes answer = encode(ours, *key, &greeting.opening);
  greeting.proof = proof_of(bytes, answer, *key);
  if (!connection.channel.send(answer) || opening->purpose == Purpose::check) {
    drop(serial);
    return;
  }
  connection.greeting = std::make_unique<Greeting>(std::move(greeting));
  connection.stage = Stage::proving;
}

void Witness::on_proof(std::uint64_t serial, Connection& connection, std::span<const std::byte> bytes) {
  SipHashTag proof{};
  std::copy(bytes.begin(), bytes.end(), proof.begin());
  const std::unique_ptr<Greeting> theirs = std::move(connection.greeting);
  const auto found = peers_.find(theirs->process);
  if (!equal_in_constant_time(proof, theirs->proof) || found == peers_.end() ||
      (found->second.connection == 0 && !make_room())) {
    drop(serial);
    return;
  }
  Entry& entry = found->second;
  if (entry.attempt != 0) {
    close_connection(std::exchange(entry.attempt, 0));  // a check, which this answers
  }
  connection.stage = Stage::open;
  connection.process = theirs->process;
  attach(entry, serial, *theirs, theirs->who);
}

void Witness::on_record(const Connection& connection, const Record& record) {
  const auto entry = peers_.find(connection.process);
  if (record.kind == RecordKind::ask) {
    const Peer* asker = entry == peers_.end() ? nullptr : entry->second.peer.get();
    static_cast<void>(connection.channel.send(encode(answer_to(record, asker))));
  } else if (entry != peers_.end()) {
    on_answer(entry->second, record);
  }
}

// Time in which this process has not run counts: it has not heard anything then.
Record Witness::answer_to(const Record& question, const Peer* asker) const {
  Record answer{.kind = RecordKind::tell, .value = question.value};
  if (asker != nullptr && asker->heard_at() != Instant{}) {
    answer.number = 1 + std::min(in_milliseconds_u32(last_poll_ - asker->heard_at()), UINT32_MAX - 1);
  }
  return answer;
}

void Witness::on_answer(Entry& entry, const Record& answer) {
  entry.standing.answered(answer.value, clock_);
  entry.said_at = last_poll_;
  entry.heard_there =
      answer.number == 0 ? Instant{} : last_poll_ - std::chrono::milliseconds(answer.number - 1);
  publish(entry);
}

// Closes the connection, and draws the conclusions for its peer.
void Witness::drop(std::uint64_t serial) {
  const auto connection = connections_.find(serial);
  const Life life = connection->second.channel.life();
  const Purpose purpose = connection->second.purpose;
  const auto found = peers_.find(connection->second.process);
  close_connection(serial);
  if (found == peers_.end()) {
    return;
  }
  Entry& entry = found->second;
  if (entry.attempt == serial) {
    entry.attempt = 0;
    if (purpose == Purpose::check) {
      entry.standing.check_failed(clock_);
    }
    back_off(entry);
    publish(entry);
  } else if (entry.connection == serial) {
    entry.connection = 0;
    if (life != Life::lost) {
      if (entry.contact.exists() && entry.attempt == 0) {
        dial(entry, Purpose::check);
      }
      entry.standing.closed(clock_, /*in_order=*/life == Life::closed, /*checking=*/entry.attempt != 0);
    } else {
      entry.standing.lost();
      back_off(entry);
    }
    publish(entry);
  }
}

}  // namespace tfabric::witness
