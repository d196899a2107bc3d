// A job of some ranks in virtual time, each with a watchdog and comms that are nothing but their facts. What
// the ranks ask and answer each other is encoded, and takes some milliseconds.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/captured_log.h"
#include "transport/lane/record.h"
#include "transport/report/shown_comm.h"

namespace tfabric::comm::test {

using namespace std::chrono_literals;

class WatchedComm final : public report::ShownComm {
 public:
  void show(Sight& sight) const override {
    sight.facts.messages = messages;
    sight.facts.outstanding = facts.outstanding;
    sight.moves = messages;
    sight.trouble = facts.lanes[0].repetitions > 2;
  }
  void examine(verdict::WaitFacts& to, Instant) override {
    to = facts;
    to.messages = messages;
  }
  void send_note(std::vector<std::byte> record) override {
    if (carries) {
      arriving_at_peer.push_back(std::move(record));
    }
  }
  // A message has been posted, and is done.
  void move() { ++messages; }

  verdict::WaitFacts facts;
  std::uint64_t messages = 0;
  bool carries = true;
  WatchedComm* peer = nullptr;
  std::size_t rank = 0, engine = 0;  // whose it is
  std::deque<std::vector<std::byte>> arriving_at_peer;
};

class WatchedJob {
 public:
  explicit WatchedJob(std::size_t ranks, verdict::Limits limits = {}, std::size_t engines = 1) {
    for (std::size_t r = 0; r < ranks; ++r) {
      auto& rank = ranks_.emplace_back(std::make_unique<Rank>());
      rank->page = observe::Page::blank();
      watchdog::Options options{.limits = limits, .self = name_of(r), .number = 1000 + 7 * r % 11};
      rank->watchdog = std::make_unique<watchdog::Watchdog>(std::move(options), *rank->page);
      for (std::size_t e = 0; e < engines; ++e) {
        rank->watches.push_back(std::make_unique<watchdog::CommWatch>(*rank->watchdog, e));
      }
    }
  }

  struct Channel {
    WatchedComm* send;
    WatchedComm* receive;
  };
  // A comm from one rank to another.
  Channel connect(std::size_t from, std::size_t to, std::size_t engine = 0) {
    WatchedComm& send = add(from, to, engine);
    WatchedComm& receive = add(to, from, engine);
    send.facts.sends = true;
    send.peer = &receive;
    receive.peer = &send;
    return {&send, &receive};
  }
  // The comm is closed, in the midst of what it does. It exists no longer when this returns.
  void close(WatchedComm& comm) {
    Rank& rank = *ranks_[comm.rank];
    rank.watches[comm.engine]->on_gone(comm, now_);
    note(comm.rank);
    comm.peer->peer = nullptr;
    std::erase_if(rank.comms, [&](const auto& each) { return each.get() == &comm; });
  }
  // The rank does not run.
  void stop(std::size_t rank, bool stopped = true) { ranks_[rank]->stopped = stopped; }

  // `each` is called each millisecond.
  template <class Each>
  void run(Duration time, const Each& each) {
    for (const Instant end = now_ + time; now_ < end; now_ += 1ms) {
      each();
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!ranks_[r]->stopped) {
          turn(r);
        }
      }
    }
  }
  void run(Duration time) {
    run(time, [] {});
  }
  [[nodiscard]] Instant now() const { return now_; }

  // What was said, as "31 rank 3: warn not-sending ... "; times in whole seconds since the beginning.
  struct Said {
    std::int64_t second;
    std::size_t rank;
    bool warning;
    std::string text;
    [[nodiscard]] bool has(std::string_view what) const { return text.find(what) != std::string::npos; }
  };
  [[nodiscard]] const std::vector<Said>& said() const { return said_; }
  void forget() { said_.clear(); }
  static verdict::Process name_of(std::size_t rank) {
    return {
        .rank = static_cast<std::int32_t>(rank), .pid = static_cast<std::uint32_t>(100 + rank), .host = "h"};
  }

 private:
  struct Rank {
    std::unique_ptr<observe::Page> page;
    std::unique_ptr<watchdog::Watchdog> watchdog;
    std::vector<std::unique_ptr<watchdog::CommWatch>> watches;
    std::vector<std::unique_ptr<WatchedComm>> comms;
    bool stopped = false;
    Duration paused{};
    Instant ran_at = kBegin;
  };
  static constexpr Instant kBegin{std::chrono::seconds(1000)};

  WatchedComm& add(std::size_t rank, std::size_t peer, std::size_t engine) {
    auto& comm = *ranks_[rank]->comms.emplace_back(std::make_unique<WatchedComm>());
    comm.rank = rank;
    comm.engine = engine;
    comm.account().id = ranks_[rank]->page->new_id();
    comm.facts.peer = name_of(peer);
    comm.facts.view = verdict::PeerView::runs;
    comm.facts.lanes = {{.rail = "eni1", .round_trip = 41us}};
    return comm;
  }

  void turn(std::size_t number) {
    Rank& rank = *ranks_[number];
    const Duration pause = now_ - rank.ran_at;
    rank.paused += pause >= 500ms ? pause : Duration{};
    rank.ran_at = now_;
    for (const auto& comm : rank.comms) {
      take(*comm);
    }
    if (now_.time_since_epoch() % 10ms == Duration{}) {
      look(rank);
    }
    for (const auto& watch : rank.watches) {
      watch->on_time(now_, rank.paused);
    }
    note(number);
  }

  // What the rank has said since it was looked at last.
  void note(std::size_t rank) {
    if (log_.size() == seen_) {
      return;
    }
    const auto lines = log_.lines();
    for (; seen_ < lines.size(); ++seen_) {
      said_.push_back({std::chrono::duration_cast<std::chrono::seconds>(now_ - kBegin).count(), rank,
                       lines[seen_].level == log::Level::warn, lines[seen_].text});
    }
  }

  // One record a millisecond.
  void take(WatchedComm& comm) {
    if (comm.peer == nullptr) {
      return;
    }
    auto& arriving = comm.peer->arriving_at_peer;
    if (arriving.empty()) {
      return;
    }
    const std::vector<std::byte> record = std::move(arriving.front());
    arriving.pop_front();
    const auto header = lane::decode(std::span(record).first<lane::kRecordHeaderBytes>());
    REQUIRE(header);
    watchdog::CommWatch& watch = *ranks_[comm.rank]->watches[comm.engine];
    const auto body = std::span(record).subspan(lane::kRecordHeaderBytes);
    if (header->type == lane::RecordType::question) {
      watch.on_question(comm, body, now_);
    } else {
      REQUIRE(header->type == lane::RecordType::answer);
      watch.on_answer(comm, body, now_);
    }
  }

  void look(Rank& rank) {
    for (const auto& comm : rank.comms) {
      report::ShownComm::Sight sight;
      comm->show(sight);
      rank.watches[comm->engine]->see(*comm, report::ShownComm::load_of(sight), now_);
    }
    for (const auto& watch : rank.watches) {
      watch->end_round();
    }
  }

  tfabric::test::CapturedLog log_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Said> said_;
  std::size_t seen_ = 0;  // lines of the log
  Instant now_ = kBegin;
};

}  // namespace tfabric::comm::test
