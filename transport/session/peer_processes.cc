#include "transport/session/peer_processes.h"

#include <algorithm>
#include <utility>

namespace tfabric::session {
namespace {

// Each user is looked at once in about as many calls of on_time(), which are a millisecond apart.
constexpr std::size_t kCallsARound = 1000;

}  // namespace

void PeerProcesses::use(witness::Witness& witness, engine::Engine& engine) {
  witness_ = &witness;
  engine.tend(*this);
}

witness::Contact PeerProcesses::contact() const {
  return witness_ == nullptr ? witness::Contact{} : witness_->contact();
}

void PeerProcesses::add(ProcessUser& user, const witness::Contact& process) {
  if (witness_ == nullptr || user.process().peer != nullptr) {
    return;
  }
  if (std::shared_ptr<witness::Peer> peer = witness_->meet(process)) {
    user.process().resumptions = peer->resumptions();
    user.process().peer = std::move(peer);
    users_.push_back(&user);
    has_new_ = true;
  }
}

void PeerProcesses::remove(ProcessUser& user) {
  if (std::exchange(user.process().peer, nullptr) != nullptr) {
    *std::find(users_.begin(), users_.end(), &user) = users_.back();
    users_.pop_back();
  }
}

void PeerProcesses::want(const ProcessUser& user) {
  if (user.process().peer != nullptr) {
    witness_->want(*user.process().peer);
  }
}

verdict::Process PeerProcesses::introduction(const ProcessUser& user) const {
  return user.process().peer == nullptr ? verdict::Process{} : witness_->introduction(*user.process().peer);
}

witness::Witness::Hearing PeerProcesses::hearing(const ProcessUser& user) const {
  return user.process().peer == nullptr ? witness::Witness::Hearing{}
                                        : witness_->hearing(*user.process().peer);
}

witness::View PeerProcesses::view(const ProcessUser& user) {
  return user.process().peer == nullptr ? witness::View::unknown : user.process().peer->view();
}

bool PeerProcesses::vouches(const ProcessUser& user) {
  return user.process().peer != nullptr && user.process().peer->is_vouched_for();
}

void PeerProcesses::on_time(Instant now) {
  witness_->poll(now);
  if (witness_->doubts()) {
    ask_lanes();
  }
  const std::uint64_t news = witness_->news();
  if (std::exchange(news_seen_, news) != news || std::exchange(has_new_, false)) {
    for (ProcessUser* user : users_) {
      bring_news(*user, *witness_);
    }
  }
  look_at_some();
}

void PeerProcesses::ask_lanes() {
  for (ProcessUser* user : users_) {
    witness::Peer& peer = *user->process().peer;
    if (const std::uint32_t doubt = peer.doubt(); doubt != 0) {
      const ProcessUser::LaneAnswer answer = user->ask_lanes(doubt);
      peer.heard(user->heard_at());
      if (answer.living) {
        peer.asked(doubt, answer.answered);
      }
    }
  }
}

void PeerProcesses::bring_news(ProcessUser& user, const witness::Witness& witness) {
  ProcessUser::Process& process = user.process();
  const std::uint32_t resumptions = process.peer->resumptions();
  if (process.peer->view() == witness::View::ended) {
    user.on_process_ended(witness.describe(*process.peer));
  } else if (std::exchange(process.resumptions, resumptions) != resumptions) {
    user.on_process_resumed(process.peer->last_stop());
  }
}

void PeerProcesses::look_at_some() {
  for (std::size_t i = 0; i < (users_.size() + kCallsARound - 1) / kCallsARound; ++i) {
    next_look_ = next_look_ + 1 < users_.size() ? next_look_ + 1 : 0;
    const ProcessUser& user = *users_[next_look_];
    user.process().peer->heard(user.heard_at());
    if (user.in_trouble()) {
      want(user);
    }
  }
}

}  // namespace tfabric::session
