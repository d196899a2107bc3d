// What each rank of a job says of a wait, when, and whom it names: in virtual time.
#include <array>

#include "tests/unit/tcp/watched_job.h"

using namespace tfabric;

using namespace tfabric::comm::test;
using verdict::PeerView;

namespace {

constexpr std::size_t kRanks = 4, kGuilty = 2;

// A ring, as NCCL's: each rank receives from the one before, and sends to the next.
struct Ring : WatchedJob {
  explicit Ring(verdict::Limits limits = {}) : WatchedJob(kRanks, limits) {
    for (std::size_t r = 0; r < kRanks; ++r) {
      channels.push_back(connect(r, (r + 1) % kRanks));
    }
  }
  WatchedComm& send_of(std::size_t rank) { return *channels[rank].send; }
  WatchedComm& receive_of(std::size_t rank) { return *channels[(rank + kRanks - 1) % kRanks].receive; }
  // All ranks move, for so long.
  void work(Duration time) {
    run(time, [&] {
      for (const Channel& channel : channels) {
        channel.send->move();
        channel.receive->move();
      }
    });
  }
  // All but one have entered a collective: their receives are posted, and the one before it has something to
  // send that is too large to be sent without a receive.
  void enter_without(std::size_t guilty) {
    for (std::size_t r = 0; r < kRanks; ++r) {
      receive_of(r).facts.outstanding = r == guilty ? 0 : 4;
    }
    const std::size_t before = (guilty + kRanks - 1) % kRanks;
    send_of(before).facts.outstanding = 2;
    send_of(before).facts.needs_receive = true;
  }
  void leave() {
    for (const Channel& channel : channels) {
      channel.send->facts.outstanding = channel.receive->facts.outstanding = 0;
      channel.send->move();
      channel.receive->move();
    }
  }
  // What the ranks but one see of it if nothing of it arrives.
  void silence(std::size_t rank, PeerView view) {
    for (WatchedComm* comm : {&send_of((rank + kRanks - 1) % kRanks), &receive_of((rank + 1) % kRanks)}) {
      comm->carries = false;
      comm->facts.view = view;
      comm->facts.lanes[0].unacknowledged = true;
      comm->facts.lanes[0].repetitions = 9;
      comm->facts.lanes[0].unheard = 100s;
    }
  }
  [[nodiscard]] std::size_t count(std::string_view what) const {
    std::size_t number = 0;
    for (const Said& line : said()) {
      number += line.has(what) ? 1 : 0;
    }
    return number;
  }

  std::vector<Channel> channels;
};

}  // namespace

TEST_CASE("a rank that is late: all that wait name it, quietly from 30 s on, and as a warning at 300 s") {
  Ring ring;
  ring.work(3s);
  ring.enter_without(kGuilty);
  ring.run(400s);
  std::array<int, kRanks> quiet{}, loud{};
  for (const auto& line : ring.said()) {
    INFO(line.second << " rank " << line.rank << ": " << line.text);
    REQUIRE(line.has("rank 2 (pid 102 on h)"));
    REQUIRE((line.rank == 1 ? line.has("[not-receiving]") || line.has("[not-sending]")
                            : line.has("[not-sending]")));
    ++(line.warning ? loud : quiet)[line.rank];
    if (line.warning) {
      REQUIRE(line.second >= 303);
      REQUIRE(line.second <= 306);
    }
  }
  REQUIRE(quiet == std::array<int, kRanks>{4, 4, 0, 4});
  REQUIRE(loud == std::array<int, kRanks>{1, 1, 0, 1});
  REQUIRE(ring.said().front().second >= 33);
  REQUIRE(ring.said().front().second <= 36);
  ring.forget();
  ring.leave();
  ring.run(20s);
  REQUIRE(ring.said().size() == 3);
  REQUIRE(ring.count("it goes on after 400 s") == 3);
}

TEST_CASE("a rank that is stopped: its neighbours warn at 5 s, others name it, and it knows itself") {
  Ring ring;
  ring.work(3s);
  ring.enter_without(kGuilty);
  ring.receive_of(kGuilty).facts.outstanding = 1;
  ring.run(200ms);
  ring.stop(kGuilty);
  ring.silence(kGuilty, PeerView::stopped);
  ring.run(40s);
  for (const auto& line : ring.said()) {
    INFO(line.second << " rank " << line.rank << ": " << line.text);
    REQUIRE(line.has("rank 2 (pid 102 on h)"));
    REQUIRE(line.warning == (line.rank != 0));
    REQUIRE(line.has(line.rank == 0 ? "[not-sending]" : "[peer-stopped]"));
    REQUIRE(line.second >= (line.rank == 0 ? 33 : 8));
    REQUIRE(line.second <= (line.rank == 0 ? 36 : 11));
  }
  REQUIRE(ring.said().size() == 3);
  REQUIRE(ring.count("in the end for rank 2 (pid 102 on h): peer-stopped") == 1);
  ring.forget();
  ring.stop(kGuilty, false);
  ring.leave();
  ring.run(20s);
  REQUIRE(ring.count("did not run for 40.0 s") == 1);
  REQUIRE(ring.count("[self-starved]") == 1);
  REQUIRE(ring.said().size() == 4);
}

TEST_CASE("a rank whose network is cut though its process runs") {
  Ring ring;
  ring.work(3s);
  ring.enter_without(kGuilty);
  ring.silence(kGuilty, PeerView::runs);
  ring.receive_of(3).facts.lanes[0].unheard = 1s;  // what it sends does not arrive
  ring.run(12s);
  REQUIRE(ring.count("[rail-silent]") == 1);
  REQUIRE(ring.count("[loss-out]") == 1);
}

TEST_CASE("ranks in a circle know it, and all of it") {
  Ring ring;
  ring.work(3s);
  for (std::size_t r = 0; r < kRanks; ++r) {
    ring.receive_of(r).facts.outstanding = 4;
  }
  ring.run(36s);
  REQUIRE(ring.said().size() == kRanks);
  REQUIRE(ring.count("4 processes wait for each other in a circle") == kRanks);
  REQUIRE(ring.count("[cycle]") == kRanks);
}

TEST_CASE("a rank that works elsewhere is not in the same collective") {
  Ring ring;
  const auto elsewhere = ring.connect(kGuilty, 0);
  ring.work(3s);
  ring.enter_without(kGuilty);
  ring.run(36s, [&] {
    elsewhere.send->move();
    elsewhere.receive->move();
  });
  REQUIRE(ring.count("[mismatch]") == 1);
  for (const auto& line : ring.said()) {
    REQUIRE(line.has("rank 2 (pid 102 on h)"));
    REQUIRE((line.rank == 3) == line.has("[mismatch]"));
  }
}

TEST_CASE("steps with pauses of up to four minutes: no warning, and nothing of pauses below 30 s") {
  Ring ring;
  for (const Duration pause : {Duration(1s), Duration(10s), Duration(29s), Duration(240s), Duration(25s)}) {
    ring.work(2s);
    ring.forget();
    ring.enter_without(kGuilty);
    ring.run(pause);
    ring.leave();
    ring.work(8s);
    REQUIRE(ring.said().empty() == (pause < 30s));
    for (const auto& line : ring.said()) {
      REQUIRE(!line.warning);
    }
  }
}

TEST_CASE("while the process itself does not run, its peers are not blamed") {
  Ring ring;
  ring.work(3s);
  ring.enter_without(kGuilty);
  ring.silence(kGuilty, PeerView::unknown);
  // Each rank rests for 2 s, and runs for 4.
  for (int i = 0; i < 5; ++i) {
    for (std::size_t r = 0; r < kRanks; ++r) {
      ring.stop(r);
    }
    ring.run(2s);
    for (std::size_t r = 0; r < kRanks; ++r) {
      ring.stop(r, false);
    }
    ring.run(4s);
  }
  REQUIRE(ring.said().empty());
}

TEST_CASE("a process that gets a hundredth of a CPU says so") {
  Ring ring;
  ring.enter_without(kGuilty);
  int tick = 0;
  ring.run(25s, [&] { ring.stop(0, ++tick % 101 != 0); });
  REQUIRE(ring.count("[self-starved]") == 1);
  REQUIRE(ring.said().front().rank == 0);
  REQUIRE(ring.said().front().warning);
  // As long as that lasts, it says nothing of others, however long it has waited.
  ring.run(60s, [&] { ring.stop(0, ++tick % 101 != 0); });
  for (const auto& line : ring.said()) {
    INFO(line.second << " rank " << line.rank << ": " << line.text);
    REQUIRE((line.rank != 0 || line.has("[self-starved]")));
  }
}

TEST_CASE("of several engines the one with the oldest wait speaks") {
  WatchedJob job(2, {}, /*engines=*/3);
  std::vector<WatchedJob::Channel> channels;
  for (std::size_t e = 0; e < 3; ++e) {
    channels.push_back(job.connect(0, 1, e));
  }
  job.run(1s);
  for (const auto& channel : channels) {
    channel.receive->facts.outstanding = 1;
    job.run(1s);
  }
  job.run(40s);
  REQUIRE(job.said().size() == 1);
  REQUIRE(job.said().front().rank == 1);
  REQUIRE(job.said().front().has("rank 0 (pid 100 on h) has sent nothing for 30 s"));
  job.forget();
  channels[0].receive->facts.outstanding = 0;
  job.run(4s);
  REQUIRE(job.said().size() == 1);
  REQUIRE(job.said().front().has("it goes on"));
  job.run(2s);
  REQUIRE(job.said().size() == 2);  // the next oldest
}

TEST_CASE("a peer that dies while another one computes is said at once") {
  WatchedJob job(3);
  const auto computes = job.connect(1, 0);
  const auto dies = job.connect(2, 0);
  computes.receive->facts.outstanding = dies.receive->facts.outstanding = 1;
  job.run(35s);
  REQUIRE(job.said().size() == 1);
  REQUIRE(job.said()[0].has("[not-sending]"));
  WatchedComm& other = job.said()[0].has("rank 1") ? *dies.receive : *computes.receive;
  job.forget();
  other.facts.view = PeerView::silent;
  other.facts.lanes[0].unacknowledged = true;
  other.facts.lanes[0].repetitions = 9;
  other.facts.lanes[0].unheard = 35s;
  job.run(5s);
  REQUIRE(job.said().size() == 1);
  REQUIRE(job.said()[0].has("[peer-silent]"));
  REQUIRE(job.said()[0].warning);
}

TEST_CASE("a comm that is closed while it waits does not go on; one whose requests are done did") {
  for (const bool done : {false, true}) {
    WatchedJob job(2);
    const auto channel = job.connect(1, 0);
    channel.receive->facts.outstanding = 1;
    job.run(35s);
    REQUIRE(job.said().size() == 1);
    job.forget();
    channel.receive->facts.outstanding = done ? 0 : 1;
    job.close(*channel.receive);
    job.run(1s);
    REQUIRE(job.said().size() == 1);
    REQUIRE(job.said()[0].has(done ? "it goes on after 35 s" : "the wait ends after 35 s with its comm"));
  }
}

TEST_CASE("records that are malformed are ignored") {
  WatchedJob job(2);
  const auto channel = job.connect(0, 1);
  const std::vector<std::vector<std::byte>> bodies{std::vector<std::byte>(0), std::vector<std::byte>(15),
                                                   std::vector<std::byte>(95, std::byte{0xff}),
                                                   std::vector<std::byte>(128, std::byte{0xff})};
  for (const auto& body : bodies) {
    for (const auto type : {lane::RecordType::question, lane::RecordType::answer}) {
      channel.send->arriving_at_peer.push_back(lane::encode_record(type, body));
    }
  }
  job.run(100ms);
  REQUIRE(job.said().empty());
}
