#include "transport/rdma/report/shown_comm.h"

#include <chrono>
#include <utility>

#include "transport/watchdog/inquiry.h"
#include "transport/watchdog/introduction.h"

namespace tfabric::rdma {
namespace {

// NCCL calls isend() again within microseconds. If it has stopped to, it does not want to send any more.
constexpr Duration kStillWanted = std::chrono::seconds(1);
// What was heard within this says that the peer runs.
constexpr Duration kLately = std::chrono::seconds(5);

}  // namespace

void ShownComm::look(const CommCore::Look& how, Instant now) {
  const std::uint64_t refusals = sight_.traffic.refusals, completions = sight_.traffic.completions;
  comm_->look(sight_, how);
  looked_at_ = now;
  if (sight_.traffic.refusals != refusals) {
    refused_at_ = now;
  }
  if (!sight_.awaited || sight_.traffic.completions != completions || completed_at_ == Instant{}) {
    completed_at_ = now;
  }
  unanswered_ = now - completed_at_;
  for (const Note& note : std::exchange(sight_.notes, {})) {
    on_note(note, now);
  }
}

// A malformed one is ignored: no comm may fail for it.
void ShownComm::on_note(const Note& note, Instant now) {
  heard_at_ = now;
  asked_at_.reset();
  switch (note.kind) {
    case Note::Kind::introduction:
      peer_ = watchdog::decode_introduction(note.body).value_or(peer_);
      break;
    case Note::Kind::question:
      watch_->on_question(*this, note.body, now);
      break;
    case Note::Kind::answer:
      watch_->on_answer(*this, note.body, now);
      break;
  }
}

std::uint64_t ShownComm::outstanding() const {
  if (sight_.traffic.failed) {
    return 0;
  }
  const bool wanted = sight_.traffic.refused && looked_at_ - refused_at_ < kStillWanted;
  return sight_.traffic.in_flight() + (wanted ? 1 : 0);
}

std::string_view ShownComm::state() const {
  if (sight_.traffic.failed) {
    return "failed";
  }
  if (sight_.peer_has_left) {
    return "peer has closed";
  }
  if (outstanding() == 0) {
    return sight_.met ? "idle" : "connecting";
  }
  if (!sight_.met) {
    return "connecting";
  }
  if (!sight_.sends) {
    return "awaits data";
  }
  if (sight_.traffic.in_flight() == 0) {
    return "peer has no receive";
  }
  return unanswered_ >= std::chrono::seconds(1) ? "no answer" : "sending";
}

void ShownComm::show(observe::CommFacts& facts) const {
  observe::put(facts.direction, sight_.sends ? "send" : "receive");
  observe::put(facts.state, state());
  observe::put(facts.rail, sight_.rail);
  observe::put(facts.peer, sight_.peer);
  facts.lanes = sight_.queue_pairs;
  facts.rank = sight_.traffic.tag;
  facts.messages = sight_.traffic.messages;
  facts.bytes = sight_.traffic.bytes;
  facts.outstanding = outstanding();
}

watchdog::WatchedComm::Load ShownComm::load() const {
  using verdict::PeerView;
  const PeerView peer = view();
  return {.messages = sight_.traffic.messages,
          .outstanding = outstanding(),
          .moves = sight_.traffic.moves,
          .trouble = is_unanswered() || !link_up_ || peer == PeerView::ended || peer == PeerView::stopped ||
                     peer == PeerView::silent};
}

verdict::PeerView ShownComm::view() const {
  using verdict::PeerView;
  if (sight_.peer_has_gone) {
    return PeerView::ended;
  }
  if (sight_.peer_is_cut_off) {
    return PeerView::unknown;  // it cannot say anything
  }
  const bool lately = heard_at_ && looked_at_ - *heard_at_ < kLately;
  if (!asked_at_) {
    return lately ? PeerView::runs : PeerView::unknown;
  }
  if (looked_at_ - *asked_at_ < kPatience) {
    return lately ? PeerView::runs : PeerView::undecided;
  }
  return sight_.kernel_answers ? PeerView::stopped : PeerView::silent;
}

void ShownComm::examine(verdict::WaitFacts& facts, Instant now) {
  look({.drive = true, .listen = true}, now);
  if (sight_.traffic.moves != account().moves) {
    return;  // it has moved since it was seen
  }
  facts.sends = sight_.sends;
  facts.outstanding = outstanding();
  facts.messages = sight_.traffic.messages;
  facts.needs_receive = sight_.sends && sight_.traffic.in_flight() == 0;
  facts.peer = peer_;
  facts.address = sight_.peer;
  facts.view = view();
  facts.lanes.push_back({.rail = sight_.rail,
                         .no_link = !link_up_,
                         .unacknowledged = is_unanswered(),
                         .unheard = now - completed_at_,
                         .by_hca = true});
}

// --- what is said to the peer

void ShownComm::send(const verdict::Question& question, Instant now) {
  if (comm_->send_note(Note::Kind::question, watchdog::encode(question))) {
    asked_at_ = asked_at_.value_or(now);
  }
}

void ShownComm::send(const watchdog::Answer& answer, Instant /*now*/) {
  comm_->send_note(Note::Kind::answer, watchdog::encode(answer));
}

}  // namespace tfabric::rdma
