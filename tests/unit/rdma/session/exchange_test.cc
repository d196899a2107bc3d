// Both sides of the meeting together: whatever the wire does, both finish or fail with a message.
#include <catch2/catch.hpp>

#include "meeting.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;

namespace {

Offer sender() {
  return with_queue_pairs(offer_of({roce_rail("a0", "10.0.0.1"), roce_rail("a1", "10.0.1.1")}));
}
Offer receiver() { return offer_of({roce_rail("b0", "10.0.1.2")}); }

// The number of bytes that a meeting sends in each direction.
struct Lengths {
  Lengths() {
    Meeting meeting(sender(), receiver());
    meeting.run();
    to_acceptor = meeting.wire->to_acceptor.written;
    to_connector = meeting.wire->to_connector.written;
    offer = to_acceptor - kMessageHeaderBytes;  // the bytes before the confirmation
  }
  std::size_t to_acceptor, to_connector, offer;
};

void require_met(const Meeting& meeting) {
  REQUIRE(meeting.finished());
  REQUIRE(meeting.acceptor->offer() == sender());
  const Agreement& agreement = meeting.connector->agreement();
  REQUIRE(meeting.connector->answer() == answer_to(receiver(), agreement));
  REQUIRE(agreement.rails == std::vector<RailPair>{{.connector = 1, .acceptor = 0, .mtu = 4096}});
}

// Checks that neither side hangs: it failed with a message that names its peer, or was dropped as half-open.
void require_both_ended(const Meeting& meeting) {
  REQUIRE_THAT(meeting.connector_error, Contains("10.0.0.1 port 4000"));
  REQUIRE(meeting.acceptor == nullptr);
  REQUIRE(meeting.accept_queue.half_open() == 0);
  if (!meeting.acceptor_error.empty()) {
    REQUIRE_THAT(meeting.acceptor_error, Contains("10.0.0.9 port 555"));
  }
}

}  // namespace

TEST_CASE("two ranks meet, in pieces of whatever size their bytes come") {
  for (const std::size_t piece : {1, 2, 3, 7, 19, 20, 21, 64, 1000}) {
    INFO("pieces of " << piece);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.piece = meeting.wire->to_connector.piece = piece;
    meeting.run();
    require_met(meeting);
  }
}

TEST_CASE("two ranks meet if their bytes pause at any byte") {
  const Lengths lengths;
  for (std::size_t at = 0; at < lengths.to_acceptor; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.pause_at = at;
    meeting.wire->to_connector.pause_at = std::min(at, lengths.to_connector - 1);
    meeting.run();
    require_met(meeting);
  }
}

TEST_CASE("a connection that is lost at any byte of the connector's is an error on both sides") {
  const Lengths lengths;
  for (std::size_t at = 0; at < lengths.to_acceptor; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.cut_at = at;
    meeting.run();
    require_both_ended(meeting);
    REQUIRE(meeting.acceptor_error.empty() == (at <= lengths.offer));
  }
}

TEST_CASE("a connection that is lost at any byte of the acceptor's is an error on both sides") {
  const Lengths lengths;
  for (std::size_t at = 1; at < lengths.to_connector; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_connector.cut_at = at;
    meeting.run();
    require_both_ended(meeting);
    REQUIRE_FALSE(meeting.acceptor_error.empty());
  }
}

TEST_CASE(
    "a connector that falls silent before its offer is there is given up, and waited for once it is "
    "answered") {
  const Lengths lengths;
  for (std::size_t at = 0; at < lengths.offer; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.stalled_at = at;
    meeting.run();
    require_both_ended(meeting);
    // It is dropped as half-open, which the connector notices.
    REQUIRE_THAT(meeting.connector_error, Contains("closed the connection"));
  }
  for (std::size_t at = lengths.offer; at < lengths.to_acceptor; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.stalled_at = at;
    meeting.run();
    REQUIRE(meeting.acceptor_error.empty());
    REQUIRE_FALSE(meeting.acceptor->ready());
  }
}

TEST_CASE("an acceptor is waited for until it answers, and given up if it falls silent in its answer") {
  const Lengths lengths;
  Meeting unanswered(sender(), receiver());
  unanswered.wire->to_connector.stalled_at = 0;
  unanswered.run();
  REQUIRE(unanswered.connector_error.empty());
  REQUIRE_FALSE(unanswered.connector->answered());
  for (std::size_t at = 1; at < lengths.to_connector; ++at) {
    INFO("byte " << at);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_connector.stalled_at = at;
    meeting.run();
    require_both_ended(meeting);
    REQUIRE_FALSE(meeting.acceptor_error.empty());
  }
}

TEST_CASE("ranks without a rail in common both say so, in the same words") {
  Meeting meeting(sender(), offer_of({infiniband_rail("mlx5_7", "fe80::")}));
  meeting.run();
  const std::string common = agree(sender(), offer_of({infiniband_rail("mlx5_7", "fe80::")})).error().message;
  REQUIRE(meeting.connector_error == "connecting to 10.0.0.1 port 4000: " + common);
  REQUIRE(meeting.acceptor_error == "connection from 10.0.0.9 port 555: " + common);
}

TEST_CASE("a rank that gives up sends its reason to the other") {
  Meeting meeting(sender(), receiver());
  REQUIRE(meeting.connector->step(meeting.now).ok());
  meeting.accept_queue.step(meeting.now);
  const auto acceptor = meeting.accept_queue.take(meeting.now);
  acceptor->give_up("no queue pair\x1b[2J could be made");
  const Status status = meeting.connector->step(meeting.now);
  REQUIRE_THAT(status.error().message, Contains("it gave up: no queue pair [2J could be made"));
  REQUIRE(meeting.connector->step(meeting.now).error().message == status.error().message);

  Meeting other(sender(), receiver());
  REQUIRE(other.connector->step(other.now).ok());
  other.accept_queue.step(other.now);
  const auto waiting = other.accept_queue.take(other.now);
  other.connector->give_up(std::string(5000, 'x'));
  REQUIRE_THAT(waiting->step().error().message, Contains("it gave up: xxx"));
}

TEST_CASE("after the meeting each side notices that the other is gone") {
  Meeting meeting(sender(), receiver());
  meeting.run();
  REQUIRE(meeting.connector->step(meeting.now).ok());
  REQUIRE(meeting.acceptor->step().ok());
  meeting.acceptor.reset();
  REQUIRE_THAT(meeting.connector->step(meeting.now).error().message,
               Contains("is gone: it closed the connection"));

  Meeting other(sender(), receiver());
  other.run();
  other.connector.reset();
  REQUIRE_THAT(other.acceptor->step().error().message, Contains("the sending rank is gone: it closed"));
}

TEST_CASE("a message out of turn is an error") {
  Meeting meeting(sender(), receiver());
  meeting.run();
  const std::vector<std::byte> ready = encode(kToken, MessageType::ready, {});
  for (FakePipe* pipe : {&meeting.wire->to_acceptor, &meeting.wire->to_connector}) {
    pipe->bytes.insert(pipe->bytes.end(), ready.begin(), ready.end());
  }
  REQUIRE_THAT(meeting.connector->step(meeting.now).error().message, Contains("an unexpected message"));
  REQUIRE_THAT(meeting.acceptor->step().error().message, Contains("an unexpected message"));
}

namespace {

const std::vector<std::byte> kConnectorIs(72, std::byte{1}), kAcceptorIs(72, std::byte{2});

template <class End>
std::vector<std::byte> next_note(End& end, MessageType type) {
  const auto note = end.take_note();
  REQUIRE(note.has_value());
  REQUIRE(note->type == type);
  return note->body;
}

}  // namespace

TEST_CASE("two ranks that take notes introduce themselves, and say things as long as the comm lives") {
  for (const std::size_t piece : {1, 7, 20, 1000}) {
    INFO("pieces of " << piece);
    Meeting meeting(sender(), receiver());
    meeting.wire->to_acceptor.piece = meeting.wire->to_connector.piece = piece;
    meeting.introduce(/*is_connector=*/true, kConnectorIs);
    meeting.introduce(/*is_connector=*/false, kAcceptorIs);
    meeting.run();
    require_met(meeting);
    const auto turn_both = [&] {
      for (int i = 0; i < 1000; ++i) {
        REQUIRE(meeting.connector->step(meeting.now).ok());
        REQUIRE(meeting.acceptor->step().ok());
      }
    };
    turn_both();
    REQUIRE((meeting.connector->takes_notes() && meeting.acceptor->takes_notes()));
    REQUIRE(next_note(*meeting.connector, MessageType::introduction) == kAcceptorIs);
    REQUIRE(next_note(*meeting.acceptor, MessageType::introduction) == kConnectorIs);
    const std::vector<std::byte> question(16, std::byte{3}), answer(96, std::byte{4});
    meeting.acceptor->send_note(MessageType::question, question);
    turn_both();
    REQUIRE(next_note(*meeting.connector, MessageType::question) == question);
    meeting.connector->send_note(MessageType::reply, answer);
    turn_both();
    REQUIRE(next_note(*meeting.acceptor, MessageType::reply) == answer);
    REQUIRE_FALSE(meeting.connector->take_note().has_value());
  }
}

TEST_CASE("a rank that knows no notes gets none, and its peer sends what it has always sent") {
  const bool connector_knows = GENERATE(true, false);
  const Lengths lengths;
  Meeting meeting(sender(), receiver());
  meeting.introduce(connector_knows, kConnectorIs);
  meeting.run();
  require_met(meeting);
  REQUIRE_FALSE(meeting.connector->takes_notes());
  REQUIRE_FALSE(meeting.acceptor->takes_notes());
  meeting.connector->send_note(MessageType::question, kConnectorIs);
  meeting.acceptor->send_note(MessageType::question, kConnectorIs);
  REQUIRE(meeting.connector->step(meeting.now).ok());
  REQUIRE(meeting.acceptor->step().ok());
  REQUIRE(meeting.wire->to_acceptor.written == lengths.to_acceptor);
  REQUIRE(meeting.wire->to_connector.written == lengths.to_connector);
}

TEST_CASE("notes that are not fetched are bounded, and so are those that the peer does not read") {
  Meeting meeting(sender(), receiver());
  meeting.introduce(/*is_connector=*/true, kConnectorIs);
  meeting.introduce(/*is_connector=*/false, kAcceptorIs);
  meeting.run();
  const std::vector<std::byte> question(16, std::byte{3});
  for (std::size_t i = 0; i < 3 * Notes::kMost; ++i) {
    meeting.connector->send_note(MessageType::question, question);
    REQUIRE(meeting.acceptor->step().ok());
  }
  std::size_t kept = 0;
  while (meeting.acceptor->take_note()) {
    ++kept;
  }
  REQUIRE(kept == Notes::kMost);
  // The stream takes nothing any more: one note waits, others are dropped.
  meeting.wire->to_acceptor.connecting = true;
  for (int i = 0; i < 100; ++i) {
    meeting.connector->send_note(MessageType::question, question);
  }
  meeting.wire->to_acceptor.connecting = false;
  REQUIRE(meeting.connector->step(meeting.now).ok());
  REQUIRE(meeting.acceptor->step().ok());
  REQUIRE(meeting.acceptor->take_note().has_value());
  REQUIRE_FALSE(meeting.acceptor->take_note().has_value());
}

TEST_CASE("a note that was not agreed on is an error") {
  Meeting meeting(sender(), receiver());
  meeting.run();
  const std::vector<std::byte> note = encode(kToken, MessageType::question, kConnectorIs);
  for (FakePipe* pipe : {&meeting.wire->to_acceptor, &meeting.wire->to_connector}) {
    pipe->bytes.insert(pipe->bytes.end(), note.begin(), note.end());
  }
  REQUIRE_THAT(meeting.connector->step(meeting.now).error().message, Contains("an unexpected message"));
  REQUIRE_THAT(meeting.acceptor->step().error().message, Contains("an unexpected message"));
}

TEST_CASE("an end without a word is not one that gives up") {
  const bool gives_up = GENERATE(false, true);
  Meeting meeting(sender(), receiver());
  meeting.run();
  if (gives_up) {
    meeting.acceptor->give_up("no");
  }
  meeting.acceptor.reset();
  REQUIRE_FALSE(meeting.connector->step(meeting.now).ok());
  REQUIRE(meeting.connector->lost() == !gives_up);
  REQUIRE(meeting.connector->cut_off() == !gives_up);
}

TEST_CASE("an acceptor's own mistake is an internal error, and nothing is sent") {
  Meeting meeting(sender(), receiver());
  REQUIRE(meeting.connector->step(meeting.now).ok());
  meeting.accept_queue.step(meeting.now);
  const auto acceptor = meeting.accept_queue.take(meeting.now);
  REQUIRE(acceptor->agree_on(Offer{}).error().code == Errc::internal);
  REQUIRE(acceptor->answer(Offer{}).error().code == Errc::internal);
  REQUIRE(acceptor->answer(receiver()).error().code == Errc::internal);
  REQUIRE(meeting.wire->to_connector.written == 0);
}
