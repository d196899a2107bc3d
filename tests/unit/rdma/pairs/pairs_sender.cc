// The sender's end in the world of pairs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/unit/rdma/pairs/pairs_ends.h"

namespace tfabric::rdma::pairs::test {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(20);

}  // namespace

PairsWorld::Sender::Sender(PairsWorld& world)
    : world_(&world), outbox_({.waits_for_receives = false}), next_try_(world.hosts_[0]->ports.size()) {}

PairsWorld::Sender::Way* PairsWorld::Sender::find(stripe::LaneSerial serial) {
  const auto found =
      std::find_if(ways_.begin(), ways_.end(), [&](const Way& way) { return way.lane->serial() == serial; });
  return found == ways_.end() ? nullptr : &*found;
}

void PairsWorld::Sender::open(std::size_t port) {
  auto lane = world_->hosts_[0]->ports[port]->carrier->offer(announced_, {.theirs = port}, -1);
  if (lane == nullptr) {
    return;
  }
  std::size_t id = 0;
  while (id < ways_.size() && !(ways_[id].settled && !ways_[id].lane->is_open() &&
                                !ways_[id].lane->is_fencing() && outbox_.drained({id}))) {
    ++id;
  }
  outbox_.renew({id});
  lane->enter({id}, {++last_serial_}, "send");
  lane->attach(*this, *this, nullptr);
  ways_.resize(std::max(ways_.size(), id + 1));
  ways_[id] = {.lane = std::move(lane), .port = port, .settled = false};
}

void PairsWorld::Sender::turn() {
  const Instant now = MadeUpVerbs::now();
  for (std::size_t port = 0; port < next_try_.size(); ++port) {
    const auto has_one = std::any_of(ways_.begin(), ways_.end(), [&](const Way& way) TF_IN_TURN {
      return way.port == port && (way.lane->is_open() || !way.settled);
    });
    if (!has_one && now >= next_try_[port]) {
      next_try_[port] = now + kPause;
      open(port);
    }
  }
  for (const Way& way : ways_) {
    if (way.lane->is_open() && way.port == gives_up) {
      gives_up.reset();
      bury(*way.lane);
    }
  }
  take_receives();
  pump();
}

void PairsWorld::Sender::take_receives() {
  while (!outbox_.full()) {
    const auto group = announced_.next();
    if (!group) {
      return;
    }
    Message& message = world_->messages_[next_message_];
    outbox_.post({.data = world_->from_.data() + next_message_ * world_->slot_,
                  .size = message.size,
                  .tag = group->tags[0],
                  .group = group->group},
                 &message.send);
    ++next_message_;
  }
}

void PairsWorld::Sender::pump() {
  std::vector<stripe::Outlet> outlets(ways_.size());
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].lane->carries()) {
      outlets[i] = {.lane = ways_[i].lane.get(), .rate = 1'000'000'000, .piece_bytes = stripe::kLineBytes};
    }
  }
  outbox_.pump(outlets);
  for (const Way& way : ways_) {
    if (way.lane->carries()) {
      way.lane->flush();
    }
  }
}

void PairsWorld::Sender::on_progress(lane::Lane& lane) {
  Way& way = ways_[lane.id().value];
  const stripe::LaneSerial serial = lane.serial();
  if (const auto text = way.lane->text(); !text.empty() && !std::exchange(way.offered, true)) {
    world_->mail(1, [this, serial, port = way.port, offer = std::vector(text.begin(), text.end())]()
                        TF_IN_TURN { world_->receiver_->on_offer(serial, port, offer); });
  }
  if (way.lane->is_ready() && !lane.carries()) {
    lane.join();
    world_->mail(1, [this, serial]() TF_IN_TURN { world_->receiver_->on_ready(serial); });
  }
  outbox_.on_confirmed(lane.id(), lane.confirmed());
  if (lane.timeouts_in_row() >= kSilent) {
    bury(lane);
    return;
  }
  pump();
}

void PairsWorld::Sender::on_fault(lane::Lane& /*lane*/, const Error& why) {
  world_->broken("sender: " + why.message);
}

void PairsWorld::Sender::on_answer(stripe::LaneSerial serial, const std::vector<std::byte>& text) {
  Way* way = find(serial);
  if (way == nullptr || !way->lane->is_open()) {
    return;
  }
  if (const Status answered = way->lane->on_answer(text); !answered) {
    world_->broken("sender: " + answered.error().message);
  }
}

void PairsWorld::Sender::bury(lane::Lane& lane) {
  ++world_->outcome_.buried;
  lane.shut();
  const bool fenced = lane.fence().has_value() || !world_->rules_.own_fence;
  burials_.begin(lane.serial(), lane.id(), fenced);
  if (fenced) {
    say_bury(lane.serial());
  }
}

void PairsWorld::Sender::say_bury(stripe::LaneSerial serial) {
  world_->mail(1, [this, serial]() TF_IN_TURN { world_->receiver_->on_bury(serial); });
  const auto record = lane::encode_serial(lane::RecordType::bury, serial);
  for (const Way& way : ways_) {
    if (way.lane->carries()) {
      way.lane->say(record);
    }
  }
}

void PairsWorld::Sender::on_fenced(lane::Lane& lane, std::uint64_t /*position*/) {
  if (!world_->rules_.own_fence) {
    return;
  }
  if (const auto settlement = burials_.fenced(lane.serial())) {
    settle(lane.serial(), *settlement);
  } else {
    say_bury(lane.serial());
  }
}

void PairsWorld::Sender::on_buried(stripe::LaneSerial serial, std::uint64_t position) {
  Way* way = find(serial);
  if (way == nullptr) {
    return;
  }
  if (way->lane->is_open()) {
    bury(*way->lane);
  }
  if (const auto settlement = burials_.answered(serial, position)) {
    settle(serial, *settlement);
  }
}

void PairsWorld::Sender::settle(stripe::LaneSerial serial, const stripe::Burials::Settlement& settlement) {
  Way& way = ways_[settlement.lane.value];
  way.settled = true;
  const std::uint64_t position = world_->rules_.position ? settlement.position : way.lane->confirmed();
  if (const Status settled = outbox_.settle(settlement.lane, position); !settled) {
    world_->killed_ ? static_cast<void>(world_->outcome_.lost_data = true)
                    : world_->broken("sender: " + settled.error().message);
    return;
  }
  world_->mail(1, [this, serial] { world_->receiver_->on_settled(serial); });
}

Status PairsWorld::Sender::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  const auto grave = lane::decode_position(body);
  if (header.type != lane::RecordType::buried || !grave) {
    return Error{Errc::internal, "not a record of a receiver"};
  }
  on_buried(grave->serial, grave->position);
  return {};
}

std::string PairsWorld::Sender::describe() const {
  std::string text =
      fmt::format("{} messages are known, {} not confirmed;", next_message_, outbox_.outstanding());
  for (const Way& way : ways_) {
    text += fmt::format(" lane {} over port {}{}{}", way.lane->serial().value, way.port,
                        way.lane->is_open() ? " open" : "", way.settled ? " settled" : "");
  }
  return text;
}

}  // namespace tfabric::rdma::pairs::test
